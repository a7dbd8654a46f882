"""The page against the service itself: its policy, its form, its refusals, and what is counted."""

import json

import pytest

pytest.importorskip("sqlalchemy", reason="the service needs the extra collection")

from geomstats_ldp.collection.study import read_study_file
from geomstats_ldp.exceptions import ProtocolError

FORM = """
[form]
title = "How do you sleep?"
introduction = "Three numbers about the last night."
labels = ["Hours asleep", "Hours awake", "Dreams"]
"""


@pytest.fixture
def come(chromium):
    """Opens the page in a browser of its own."""
    contexts = []

    def open_page(service, token, complaints):
        contexts.append(chromium.new_context(viewport={"width": 360, "height": 740}))
        page = contexts[-1].new_page()
        page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        fingerprint = service.collection.protocol.fingerprint
        page.goto(f"{service.url}/#token={token}&fingerprint={fingerprint}")
        return page

    yield open_page
    for context in contexts:
        context.close()


def answer(page, numbers):
    page.locator("#consent button").click()
    page.locator("#numbers").wait_for()
    labels = page.locator("#fields label").all_inner_texts()
    for i, number in enumerate(numbers):
        page.fill(f"#field-{i}", number)
    page.locator("#form button").click()
    page.locator("#send").click()
    page.locator("#done").wait_for(timeout=20000)
    return labels


def test_answers_are_stored_and_counted(run_service, come, wait_until):
    service, complaints, ids = run_service(service=FORM), [], []
    for token in service.tokens(3):
        page = come(service, token, complaints)
        page.locator("#before").wait_for()
        assert page.inner_text("#title") == "How do you sleep?"
        labels = answer(page, ["1.5", "-0.5", "0.25"])
        assert labels == ["Hours asleep", "Hours awake", "Dreams"]
        ids.append(json.loads(page.inner_text("#sent"))["report_id"])
    assert complaints == []
    assert len(set(ids)) == service.count("reports") == 3
    wait_until(lambda: service.http.get("/v1/status").json()["n_participants"] == 3)


@pytest.mark.slow
def test_an_invitation_is_good_for_one_browser(run_service, come):
    service = run_service()
    (token,) = service.tokens(1)
    answer(come(service, token, []), ["1", "0", "0"])
    again = come(service, token, [])
    again.locator("#consent button").click()
    again.locator("#refused").wait_for()
    assert "used already" in again.inner_text("#refused-text")
    assert service.count("reports") == 1


@pytest.mark.slow
def test_an_unknown_invitation_is_told_in_kind_words(run_service, come):
    page = come(run_service(), "forged-token-of-nobody", [])
    page.locator("#consent button").click()
    page.locator("#refused").wait_for()
    assert "does not know this invitation" in page.inner_text("#refused-text")


@pytest.mark.parametrize(
    "form",
    ['title = ["a"]', 'labels = "Hours"', "labels = [1, 2, 3]", 'coordinates = "polar"', "more = 1"]
    + [f'introduction = "{"long " * 500}"'],
)
def test_a_form_that_cannot_be_shown_is_refused(form, study_text):
    with pytest.raises(ProtocolError):
        read_study_file(study_text(service=f"[form]\n{form}"))


@pytest.mark.slow
def test_the_person_chooses_the_epsilon(run_service, come, wait_until):
    """The page shows what each choice tells, draws with its mechanism, and keeps to it."""
    service, complaints = run_service(epsilon="{strict = 1.0, open = 4.0}"), []
    first, second = service.tokens(2)
    page = come(service, first, complaints)
    page.locator("#before").wait_for()
    page.locator("#consent button").click()
    assert "choose one" in page.inner_text("#consent-error")
    labels = page.locator("#groups label").all_inner_texts()
    assert labels == ["strict: epsilon 1", "open: epsilon 4"]
    for name, epsilon in (("open", 4), ("strict", 1)):
        page.get_by_label(name).check()
        assert page.inner_text("#epsilon").startswith(f"Epsilon is {epsilon}:")
    answer(page, ["1.5", "-0.5", "0.25"])
    sent = json.loads(page.inner_text("#sent"))["message"]
    assert service.collection.protocol.group_of(sent["index"]) == "strict"
    wait_until(lambda: service.http.get("/v1/status").json()["groups"] == {"strict": 1, "open": 0})
    page = come(service, second, complaints)
    page.locator("#before").wait_for()
    page.get_by_label("open").check()
    page.locator("#consent button").click()
    page.locator("#numbers").wait_for()
    page = come(service, second, [])
    page.locator("#before").wait_for()
    page.get_by_label("strict").check()
    page.locator("#consent button").click()
    page.locator("#refused").wait_for()
    assert "another group on an earlier visit" in page.inner_text("#refused")
    assert complaints == []


def test_a_study_that_asks_scouts_first_is_told_to_be_beyond_the_page(
    run_service, come, study_text
):
    text = study_text().replace("initial_point = [0.3, 1.0, 0.3]", 'initial_point = "scout"')
    service = run_service(text="n_features = 3\n" + text)
    (token,) = service.tokens(1)
    page = come(service, token, [])
    page.locator("#refused").wait_for()
    assert "asks scouts first" in page.inner_text("#refused-text")
    assert service.count("questions") == 0
