"""The page on a phone, by keyboard alone, and for those who see little or nothing."""

import pytest

from geomstats_ldp import PrivateFrechetMean, PrivateVMFLocation

# The browser takes long.
pytestmark = pytest.mark.slow

DATUM = ["0.731428", "-0.298417"]
PLAN = {"n_rounds": 5, "n_participants": 2000}


@pytest.fixture
def link(stub):
    mean = PrivateFrechetMean(epsilon=4.0, **PLAN).start(n_features=2)
    return stub.publish(mean.protocol_, mean.queries(4))


def test_a_keyboard_is_enough(context, stub, link, visit):
    person = visit(context, link)
    person.waits_for("before")
    press = person.page.keyboard.press

    def tab_to(selector):
        for _ in range(12):
            press("Tab")
            if person.page.evaluate("(s) => document.activeElement.matches(s)", selector):
                return
        pytest.fail(f"{selector} cannot be reached by the Tab key")

    tab_to("#consent button")
    press("Enter")
    person.waits_for("numbers")
    assert person.page.evaluate("document.activeElement.id") == "numbers-title"
    for i, number in enumerate(DATUM):
        tab_to(f"#field-{i}")
        person.page.keyboard.type(number)
    press("Enter")
    person.waits_for("review")
    assert person.page.evaluate("document.activeElement.id") == "review-title"
    tab_to("#send")
    press("Space")
    person.waits_for("done")
    assert len(stub.messages) == 1


OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"

#: Inputs, buttons and the like without a name for those who cannot see them.
UNNAMED = """[...document.querySelectorAll("input, button, summary, [role=region]")]
    .filter((node) => node.offsetParent !== null)
    .filter((node) => !(node.labels?.length || node.textContent.trim() || node.ariaLabel))
    .map((node) => node.outerHTML)"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_state_fits_a_phone_and_has_contrast(scheme, chromium, stub, visit):
    direction = PrivateVMFLocation(epsilon=2.0, **PLAN).start(n_features=3)
    link = stub.publish(direction.protocol_, direction.queries(2))
    context = chromium.new_context(viewport={"width": 360, "height": 740}, color_scheme=scheme)
    person = visit(context, link)

    def looks_good():
        assert person.page.evaluate(OVERFLOW) <= 0
        assert person.page.evaluate(UNNAMED) == []
        assert person.page.evaluate(FAINT) == []

    person.waits_for("before")
    person.page.click("summary")
    looks_good()
    person.page.click("#consent button")
    person.waits_for("numbers")
    person.continues()
    looks_good()
    person.page.check("input[value=angles]")
    person.types(["-120.5", "45"])
    looks_good()
    person.continues()
    person.waits_for("review")
    looks_good()
    person.sends()
    person.waits_for("done")
    looks_good()
    assert person.complaints == []
    context.close()


#: Texts whose contrast with what is behind them is less than the 4.5 of WCAG 2.1 AA.
FAINT = """(() => {
    const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const luminance = (colour) => {
        const [r, g, b] = channels(colour).map((c) => c / 255)
            .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (node) => {
        const colour = getComputedStyle(node).backgroundColor;
        const isClear = (channels(colour)[3] ?? 1) === 0;
        return isClear && node.parentElement ? behind(node.parentElement) : colour;
    };
    const hasText = (node) => [...node.childNodes].some((c) => c.nodeType === 3 && c.data.trim());
    return [...document.querySelectorAll("main *")]
        .filter((node) => node.offsetParent !== null && hasText(node) && !node.disabled)
        .filter((node) => {
            const pair = [getComputedStyle(node).color, behind(node)].map(luminance);
            return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05) < 4.5;
        })
        .map((node) => node.outerHTML);
})()"""
