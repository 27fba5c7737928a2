"""The actor of a request, and the check that it may do what it asks for.

    require(request, "tell", "alloys")

raises NotAuthenticated (401) without a token or session, UnknownCampaign (404) for a campaign that
does not exist for this actor, and NotPermitted (403) for something that its token does not allow.
A campaign outside the token is answered as one that does not exist, in the same words, so that
nobody learns the names of others.
"""

from starlette.requests import HTTPConnection

from weal.errors import NotAuthenticated, NotPermitted, UnknownCampaign
from weal.store.actors import Actor, permissions_text


def find_actor(request: HTTPConnection) -> Actor | None:
    """The actor of a request; None at an address that is public."""
    found: Actor | None = request.scope.get("state", {}).get("actor")
    return found


def require(request: HTTPConnection, permission: str, campaign: str | None = None) -> Actor:
    """The actor of the request if it has this permission, on this campaign if one is given."""
    actor = find_actor(request)
    if actor is None:
        raise NotAuthenticated(
            "not logged in: send the header `Authorization: Bearer TOKEN`, or open the address "
            "that weal serve printed"
        )
    if campaign is not None and not actor.sees(campaign):
        raise hidden_campaign(campaign)
    if permission not in actor.may:
        raise NotPermitted(
            f"this token may {permissions_text(actor.may)}, not {permission}; nothing was done: "
            "`weal token add` makes a token that may"
        )
    return actor


def hidden_campaign(name: str) -> UnknownCampaign:
    """The error for a campaign that does not exist for an actor with campaigns of its own."""
    return UnknownCampaign(
        f"there is no campaign {name!r} for this token: GET the list of campaigns"
    )


def error_text(request: HTTPConnection, error: Exception) -> str:
    """The message of an error without the names of campaigns that the actor does not see.

    A store lists its campaigns when it is asked for an unknown one.
    """
    actor = find_actor(request)
    name = request.scope.get("path_params", {}).get("name")
    is_restricted = actor is None or actor.campaigns is not None
    if isinstance(error, UnknownCampaign) and is_restricted:
        return str(hidden_campaign(str(name)) if name else "there is no such campaign")
    return str(error)
