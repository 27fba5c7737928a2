"""Words that are added to classes and grades, which labels refer to by their position."""

import pytest

from campaign.lab import truth
from campaign.several import labels, several
from weal.campaign.campaign import open_campaign


def test_a_class_never_seen_before_can_be_added(shared_url):
    with several(shared_url) as one:
        one.tell("r1", {"phase": "hcp"})
        with pytest.raises(ValueError, match="not a class of phase"):
            one.tell("r2", {"phase": "fct"})
        one.add_words("phase", "fct")
        one.tell("r2", {"phase": "fct"})
        one.tell("r2", {"phase": "hcp"}, repeat=True)
    with open_campaign("lab", shared_url) as again:
        again.tell("r3", {"phase": "FCT"})
        assert labels(again) == {"phase": {"r1": ["hcp"], "r2": ["fct", "hcp"], "r3": ["fct"]}}
        before = len(again.events())
        again.add_words("phase", "Fct", "bcc")
        assert len(again.events()) == before


def test_the_model_knows_an_added_class():
    with several(targets=["phase"]) as one:
        one.tell({f"r{n}": "fcc" if truth(n) > 0 else "bcc" for n in range(12)})
        parts = set(one.read_session().state.parts)
        one.add_words("phase", "fct")
        one.tell("r20", "fct")
        now = set(one.read_session().state.parts)
        assert now - parts == {"phase is fct"}
        assert one.read_session().replay.unusable == {}


@pytest.mark.parametrize(
    ("quantity", "word", "says"),
    [
        ("yield", "good", "no classes or grades"),
        ("crystallised", "maybe", "no classes or grades"),
        ("colour", "red", "no quantity 'colour'"),
        ("phase", " ", "blank"),
    ],
)
def test_words_that_cannot_be_added(quantity, word, says):
    with several() as one, pytest.raises(ValueError, match=says):
        one.add_words(quantity, word)
