"""Actors: what each may do, and on which campaigns."""

import pytest
from starlette.requests import HTTPConnection

from weal.errors import NotAuthenticated, NotPermitted, UnknownCampaign
from weal.store.actors import (
    FULL_ACCESS,
    PERMISSIONS,
    READ_ONLY,
    ROLES,
    Actor,
    parse_permissions,
    permissions_text,
)
from weal.web.actors import error_text, require

ROBOT = Actor("robot-1", frozenset(("ask", "tell")), frozenset(("alloys",)))


def request_of(actor, **path):
    return HTTPConnection({"type": "http", "state": {"actor": actor}, "path_params": path})


@pytest.mark.parametrize("actor", [FULL_ACCESS, READ_ONLY, ROBOT])
@pytest.mark.parametrize("permission", PERMISSIONS)
def test_an_actor_may_do_what_its_words_say_and_nothing_else(actor, permission):
    if permission in actor.may:
        assert require(request_of(actor), permission, "alloys") is actor
    else:
        with pytest.raises(NotPermitted, match=f"not {permission}.*weal token add"):
            require(request_of(actor), permission, "alloys")


def test_a_request_without_an_actor_is_not_authenticated():
    for request in (request_of(None), HTTPConnection({"type": "http"})):
        with pytest.raises(NotAuthenticated, match="Bearer") as refused:
            require(request, "read")
        assert refused.value.code == "not_authenticated"


def test_a_campaign_of_others_and_one_that_is_not_there_are_refused_in_the_same_words():
    """A permission that is missing is no way to learn that a campaign exists."""
    for permission in PERMISSIONS:
        with pytest.raises(UnknownCampaign) as refused:
            require(request_of(ROBOT), permission, "steels")
        listed = UnknownCampaign("there is no campaign 'steels'; it has 'alloys', 'secret'")
        assert error_text(request_of(ROBOT, name="steels"), listed) == str(refused.value)
    assert "secret" in error_text(request_of(FULL_ACCESS, name="steels"), listed)


def test_the_name_of_an_actor_is_recorded_and_a_note_only_where_there_is_none():
    assert ROBOT.recorded_as("ann") == "robot-1"
    assert FULL_ACCESS.recorded_as("ann") == "ann"


@pytest.mark.parametrize("text", ["ask,tell", " ASK , tell,", "measure", "manage", "read,skip"])
def test_permissions_read_back_what_is_shown(text):
    found = parse_permissions(text)
    assert parse_permissions(permissions_text(found)) == found


def test_roles_are_sets_of_words():
    assert parse_permissions("measure") == {"read", "ask", "tell", "skip"} == ROLES["measure"]
    assert parse_permissions("manage") == set(PERMISSIONS) == FULL_ACCESS.may
    assert parse_permissions("read") == {"read"} == READ_ONLY.may


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("tel", "did you mean 'tell'"),
        ("admin", "Give some of"),
        ("", "no permission"),
        (" , ", "no p"),
    ],
)
def test_another_word_is_refused_with_the_words_that_there_are(text, advice):
    with pytest.raises(ValueError, match=advice):
        parse_permissions(text)
