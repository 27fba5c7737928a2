"""Labels that are called sure, and doubt turned off: kept in events, replayed to the same state."""

import pytest
from numpy.testing import assert_array_equal

from campaign.lab import campaign, number, truth
from weal.campaign.campaign import open_campaign
from weal.errors import AlreadyLabelled

IDS = [f"r{n}" for n in range(14)]
pytestmark = pytest.mark.filterwarnings("ignore:r4. .* is far from the labels so far")


def told(one, wrong="r4"):
    for name in IDS:
        one.tell(name, truth(number(name)) * (1000.0 if name == wrong else 1.0) + 0.5)


def at(one, name):
    return [label.name for label in one.read_session().view().labels].index(name)


def test_a_label_told_again_as_sure_is_an_event_and_is_believed(tmp_path):
    url = f"sqlite:///{tmp_path / 'lab.db'}"
    with campaign(url) as one:
        told(one)
        assert one.read_model().outlier_probability_[at(one, "r4")] > 0.9
        y = one.read_ledger().quantity().labels["r4"][0].y
        before = one.read_ledger().seq
        one.tell("r4", y, by="eve", sure=True)
        assert one.read_ledger().seq == before + 1
        assert one.read_ledger().quantity().labels["r4"][0].sure
        assert (
            one.read_ledger().quantity().labels["r4"][0].who != "eve"
        )  # who confirms did not measure
        assert one.read_ledger().n_labels == one.read_model().n_labels_ == len(IDS)
        assert one.read_model().outlier_probability_[at(one, "r4")] == 0.0
        one.tell("r4", y, sure=True)
        one.tell("r4", y)
        assert one.read_ledger().seq == before + 1
        found = one.read_model().predict(one.read_session().pool.X)
    with open_campaign("lab", url) as again:
        assert_array_equal(again.read_model().predict(again.read_session().pool.X), found)


def test_bodies_of_events_hold_sure_only_where_it_is_so(tmp_path):
    with campaign(f"sqlite:///{tmp_path / 'lab.db'}") as one:
        one.tell("r1", 1.0)
        one.tell("r2", 2.0, sure=True)
        plain, sure = (event.body for event in one.events()[-2:])
        assert "sure" not in plain
        assert sure["sure"] is True
        with pytest.raises(ValueError, match="sure"):
            one.tell("r3", 2.0, sure="yes")


def test_a_confirmed_label_leaves_other_measurements_of_its_row(tmp_path):
    with campaign(f"sqlite:///{tmp_path / 'lab.db'}") as one:
        told(one)
        one.tell("r5", 3.25, repeat=True)
        one.tell("r5", 3.25, sure=True)
        assert [told.sure for told in one.read_ledger().quantity().labels["r5"]] == [False, True]
        several = one.read_session().view().labels.by_name["r5"]
        assert [label.sure for label in several] == [False, True]


def test_doubt_can_be_turned_off_and_on(tmp_path):
    url = f"sqlite:///{tmp_path / 'lab.db'}"
    with campaign(url, outliers=False) as one:
        told(one)
        assert not one.read_model().outlier_probability_.any()
        one.change(outliers=True)
        assert one.read_model().outlier_probability_[at(one, "r4")] > 0.9
        with pytest.raises(ValueError, match="outliers"):
            one.change(outliers="off")


def test_a_label_with_another_noise_is_refused_with_both():
    one = campaign()
    one.tell("r1", 3)
    both = r"'r1' has the label 3.0 without a noise already, and this one has noise 0.2; use repl"
    with pytest.raises(AlreadyLabelled, match=both):
        one.tell("r1", 3, noise=0.2, sure=True)
    one.tell("r2", 3, noise=0.1)
    with pytest.raises(AlreadyLabelled, match=r"3.0 with noise 0.1 already, and this one has none"):
        one.tell("r2", 3)
    with pytest.raises(AlreadyLabelled, match=r"the label 3.0 already, and 4.0 is another"):
        one.tell("r1", 4, noise=0.2)
