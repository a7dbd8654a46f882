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


SCOUTED = """
estimator = "PrivatePCA"
n_features = 3
[parameters]
norm_bound = "scout"
initial_point = "scout"
epsilon = 8.0
n_participants = 60
n_rounds = 2
[scouts]
n_participants = 2
n_rounds = 1
"""


def test_scouts_and_those_who_follow_answer_by_the_page(run_service, come, wait_until):
    """Two are asked for a length, two for a direction; the page follows them to the study."""
    service, complaints, told = run_service(text=SCOUTED), [], []
    ledger, sent = service.service.ledger, 0
    for token in service.tokens(5):
        page = come(service, token, complaints)
        page.locator("#before").wait_for()
        request = page.inner_text("#request")
        assert "in which of 80 ranges its length lies, or where it points to" in request
        assert "leading principal component" in request
        page.locator("#consent button").click()
        page.locator("#numbers").wait_for()
        for i, number in enumerate(["30", "-40", "10"]):
            page.fill(f"#field-{i}", number)
        told.append(page.inner_text("#meaning"))
        page.locator("#form button").click()
        page.locator("#send").click()
        page.locator("#done").wait_for(timeout=20000)
        sent += 1
        wait_until(lambda n=sent: sum(view.server.n_participants for view in ledger.views) == n)
    assert complaints == [] and service.count("reports") == 5
    assert all(text.startswith("Your numbers have the length 50.99.") for text in told[:2])
    assert all(text.startswith("The answer is about the direction") for text in told[2:4])
    assert "counted as" in told[4]
    found = ledger.found()
    assert 10 < found["norm_bound"] < 300  # epsilon is 8: sets hold the bin nearly always
    assert page.inner_text("#sent").count(ledger.views[-1].stage.protocol.fingerprint[:12]) == 1


@pytest.mark.slow
def test_a_service_that_says_another_study_is_refused_by_the_page(run_service, come, monkeypatch):
    service = run_service(text=SCOUTED.replace('initial_point = "scout"', ""))
    ledger = service.service.ledger
    for token in service.tokens(2):
        answer(come(service, token, []), ["30", "-40", "10"])
    true = ledger.found

    def false():
        found = true()
        protocol = json.loads(found["protocol"])
        protocol["mechanism"]["epsilon"] = 8.5
        return {**found, "protocol": json.dumps(protocol)}

    monkeypatch.setattr(ledger, "found", false)
    page = come(service, service.tokens(1)[0], [])
    page.locator("#consent button").click()
    page.locator("#refused").wait_for()
    assert "not the one that was published" in page.inner_text("#refused-text")
    assert service.count("reports") == 2
