"""A person in front of the page, in a real browser: what is shown, sent, kept and refused.

The browser takes long, so that what goes wrong is tried among the slow tests.
"""

import json
import re

import numpy as np
import pytest

from geomstats_ldp import Message, PrivateFrechetMean, Protocol

DATUM = ["0.731428", "-0.298417"]


def make_mean(**options):
    mean = PrivateFrechetMean(epsilon=4.0, n_rounds=5, n_participants=2000, **options)
    return mean.start(n_features=2)


@pytest.fixture
def mean():
    return make_mean()


@pytest.fixture
def link(stub, mean):
    return stub.publish(mean.protocol_, mean.queries(4))


def test_an_answer_arrives_and_is_counted(context, stub, mean, link, visit):
    person = visit(context, link)
    person.answers(DATUM)
    assert "has arrived" in person.text()
    (text,) = stub.messages
    mean.partial_fit(Message.from_json(text))
    assert mean.n_participants_ == 1
    assert person.complaints == []


def test_nothing_but_the_message_leaves(context, stub, link, visit):
    person = visit(context, link)
    person.answers(DATUM)
    sent = [(r.method, r.url.removeprefix(stub.url), r.post_data) for r in person.requests]
    posts = [entry for entry in sent if entry[0] != "GET"]
    assert [entry[:2] for entry in posts] == [("POST", "/v1/questions"), ("POST", "/v1/reports")]
    assert posts[0][2] is None
    assert all(r.url.startswith(stub.url) for r in person.requests)
    body = json.loads(posts[1][2])
    assert body.keys() == {"report_id", "message"}
    assert body["message"].keys() == {"candidate", "fingerprint", "round", "index"}
    assert re.fullmatch("[0-9a-f]{32}", body["report_id"])
    token = link.split("token=")[1].split("&")[0]
    for request in person.requests:
        everything = f"{request.url} {request.post_data} {request.all_headers()}"
        assert not any(number.strip("-") in everything for number in DATUM)
        assert token not in request.url.partition("#")[0]
        assert (token in everything) == (request.method == "POST")


def test_the_datum_is_nowhere_kept(context, link, visit):
    person = visit(context, link)
    person.answers(DATUM)
    kept = person.page.evaluate(
        """JSON.stringify([
            {...localStorage}, {...sessionStorage}, document.cookie, document.body.outerHTML,
            [...document.querySelectorAll("input")].map((input) => input.value),
        ])"""
    )
    assert not any(number.strip("-") in kept for number in DATUM)
    assert kept.startswith("[{},{},")
    assert person.remembers() == [{"state": "sent"}]


@pytest.mark.slow
def test_a_second_visit_finds_that_all_is_done(context, stub, link, visit):
    visit(context, link).answers(DATUM)
    again = visit(context, link)
    again.waits_for("done")
    assert "already" in again.text()
    assert [r.method for r in again.requests if "/v1/" in r.url] == []
    assert len(stub.bodies) == 1


WRONG_NUMBERS = {
    "": "Please enter a number",
    "one": "does not look like a number",
    "1,000.5": "does not look like a number",
    "1e999": "too large",
    "NaN": "does not look like a number",
}


def test_wrong_numbers_get_a_kind_word(context, stub, link, visit):
    person = visit(context, link)
    person.takes_part()
    for typed, kind_word in WRONG_NUMBERS.items():
        person.types([typed, "1"])
        person.continues()
        assert kind_word in person.text("#error-0")
        assert person.page.get_attribute("#field-0", "aria-invalid") == "true"
        assert person.page.evaluate("document.activeElement.id") == "field-0"
        assert person.page.is_hidden("#review")
        person.types(DATUM)
        assert person.page.get_attribute("#field-0", "aria-invalid") is None
    person.continues()
    person.sends()
    person.waits_for("done")
    assert len(stub.bodies) == 1


@pytest.mark.slow
def test_what_lies_beyond_the_bound_is_said(context, mean, link, visit):
    person = visit(context, link)
    person.takes_part()
    radius = mean.protocol_.loss_spec["data_radius"]
    person.types([f"{3 * radius},0".replace(".0,", ","), "0"])
    assert "beyond the public bound" in person.text("#meaning")
    assert f"({radius:g}, 0)" in person.text("#meaning")
    person.types(["0,25", "−0.5"])
    assert "counted as it is" in person.text("#meaning")
    person.continues()
    person.waits_for("review")
    assert "0,25" in person.text("#stays")
    person.page.click("#back")
    person.waits_for("numbers")
    assert person.page.input_value("#field-0") == "0,25"


@pytest.mark.slow
def test_a_lost_acknowledgement_sends_the_same_report_again(context, stub, link, visit):
    stub.lose_acknowledgements = 2
    visit(context, link).answers(DATUM)
    assert len(stub.bodies) == 3
    assert len(set(stub.bodies)) == 1


@pytest.mark.slow
def test_a_page_that_is_loaded_again_sends_the_same_report(context, stub, link, visit):
    stub.refusals["/v1/reports"] = (500, "failure")
    person = visit(context, link)
    person.takes_part()
    person.types(DATUM)
    person.continues()
    person.sends()
    person.waits_for("sending")
    person.is_told("again")
    (record,) = person.remembers()
    person.page.close()
    stub.refusals.clear()
    again = visit(context, link)
    again.waits_for("done")
    assert stub.bodies == [record["body"]]
    assert "/v1/questions" not in "".join(r.url for r in again.requests)


@pytest.mark.slow
def test_an_offline_moment_is_survived(context, stub, link, visit):
    person = visit(context, link)
    person.takes_part()
    person.types(DATUM)
    person.continues()
    person.waits_for("review")
    context.set_offline(True)
    person.page.click("#send")
    person.is_told("no connection")
    assert stub.bodies == []
    context.set_offline(False)
    person.waits_for("done")
    assert len(stub.bodies) == 1


@pytest.mark.slow
def test_two_tabs_give_one_answer(context, stub, link, visit):
    tabs = [visit(context, link) for _ in range(2)]
    for tab, numbers in zip(tabs, (DATUM, ["0.1", "0.2"])):
        tab.takes_part()
        tab.types(numbers)
        tab.continues()
        tab.waits_for("review")
    for tab in tabs:
        tab.page.click("#send")
    for tab in tabs:
        tab.waits_for("done")
    assert len(set(stub.bodies)) == 1


@pytest.mark.slow
def test_of_two_tabs_that_draw_at_once_one_is_kept(context, stub):
    tabs = [context.new_page() for _ in range(2)]
    for tab in tabs:
        tab.goto(f"{stub.url}/page/sha256.js")
    for trial in range(40):
        for number, tab in enumerate(tabs):
            tab.evaluate(
                """([token, body]) => {
                    const store = import("/page/store.js").then((m) => m.Store.open(token));
                    window.kept = store.then((opened) => opened.keep(() => body));
                }""",
                [f"token {trial}", f"draw of tab {number}"],
            )
        assert len({tab.evaluate("window.kept.then((kept) => kept.body)") for tab in tabs}) == 1


@pytest.mark.slow
def test_between_rounds_the_page_waits(context, stub, link, visit):
    stub.closed_for = 2
    person = visit(context, link)
    person.waits_for("before")
    person.page.click("#consent button")
    person.is_told("next round")
    assert "in 2 s" in person.text("#status")
    person.waits_for("numbers")


@pytest.mark.slow
@pytest.mark.parametrize(
    "status, code, kind_word",
    [
        (401, "unknown_token", "does not know this invitation"),
        (409, "token_spent", "has been used already"),
        (410, "ended", "has ended"),
    ],
)
def test_refusals_are_told_in_kind_words(status, code, kind_word, context, stub, link, visit):
    stub.refusals["/v1/questions"] = (status, code)
    person = visit(context, link)
    person.waits_for("before")
    person.page.click("#consent button")
    person.waits_for("refused")
    assert kind_word in person.text("#refused")


@pytest.mark.slow
def test_another_protocol_is_refused_before_anything_is_asked(context, stub, mean, link, visit):
    other = make_mean(data_radius=0.5)
    stub.publish(other.protocol_, other.queries(1))
    person = visit(context, link)
    person.waits_for("refused")
    shown = re.sub(r"\s", "", person.text("#refused-details"))
    assert mean.protocol_.fingerprint in shown
    assert other.protocol_.fingerprint in shown
    assert not any(r.method == "POST" for r in person.requests)
    assert person.page.locator("input:visible").count() == 0


@pytest.mark.slow
def test_without_a_fingerprint_epsilon_has_to_be_allowed(context, stub, mean, link, visit):
    person = visit(context, link.partition("&")[0])
    person.waits_for("before")
    assert mean.protocol_.fingerprint in re.sub(r"\s", "", person.text("#fingerprint"))
    person.page.click("#consent button")
    assert "tick" in person.text("#consent-error")
    assert not any(r.method == "POST" for r in person.requests)
    assert "epsilon of 4" in person.text("#allow")
    person.page.check("#allowed")
    person.answers(DATUM)
    assert len(stub.messages) == 1


@pytest.mark.slow
def test_a_question_outside_of_the_region_is_not_answered(context, stub, link, visit):
    for question in stub.questions:
        question["point"] = [40.0, 40.0]
    person = visit(context, link)
    person.waits_for("before")
    person.page.click("#consent button")
    person.waits_for("refused")
    assert "region of queries" in person.text("#refused")
    assert stub.bodies == []


@pytest.mark.slow
def test_without_a_memory_nothing_is_asked(chromium, stub, link, visit):
    context = chromium.new_context()
    context.add_init_script("indexedDB.__proto__.open = () => { throw new Error('private'); };")
    person = visit(context, link)
    person.waits_for("refused")
    assert "remember" in person.text("#refused-text")
    assert not any("/v1/" in r.url for r in person.requests)
    context.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "fragment", ["", "#fingerprint=00", "#token=", "#token=%0Aodd", "#token=ü"]
)
def test_without_an_invitation_nothing_is_asked(fragment, context, stub, visit):
    person = visit(context, f"{stub.url}/{fragment}")
    person.waits_for("refused")
    assert "invitation" in person.text("#refused-text")
    assert not any("/v1/" in r.url for r in person.requests)


@pytest.mark.slow
def test_the_organisers_words_are_shown_as_text(context, stub, link, visit):
    stub.form = {
        "title": "Sleep <b>well</b>",
        "introduction": "One question.",
        "labels": ["Hours", "Mood"],
    }
    person = visit(context, link)
    person.takes_part()
    assert person.text("#title") == "Sleep <b>well</b>"
    assert person.text("label[for=field-1]") == "Mood"
    assert person.complaints == []


def test_the_protocol_of_the_page_is_that_of_python(mean, javascript):
    text = mean.protocol_.to_json()
    found = javascript(
        """async (text) => {
            const { Protocol } = await import("/page/protocol.js");
            return new Protocol(text).fingerprint;
        }""",
        text,
    )
    assert found == mean.protocol_.fingerprint == Protocol.from_json(text).fingerprint
    assert np.ndim(mean.protocol_.initial_point) == 1
