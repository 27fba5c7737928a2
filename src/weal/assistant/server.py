"""The Model Context Protocol server of `weal mcp`: tools over standard input and output.

The official SDK (the extra `mcp`) speaks the protocol; the tools are those of `CampaignTools`.
Errors of weal reach the assistant as their code and sentence, which ends in the way out. Standard
output belongs to the protocol: nothing else may be printed there.
"""

import functools
import inspect
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

from weal import __version__
from weal.assistant.tools import TOOLS, CampaignTools
from weal.errors import ImplausibleLabel, WealError, error_code

if TYPE_CHECKING:
    from mcp.server import MCPServer

INSTRUCTIONS = """\
weal chooses which candidate to measure next and learns from the labels. A loop: ask_for_rows, \
wait until the person has measured them, tell_label for each, get_status. Use ids exactly as they \
are given. Never invent a label: tell only what a person or an instrument has measured. If a label \
is refused as implausible, ask the person before sending it again with checked."""


def make_server(tools: CampaignTools) -> "MCPServer":
    """A server with the tools that the actor may call."""
    try:
        from mcp.server import MCPServer
        from mcp_types import ToolAnnotations
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "weal mcp needs the package mcp: pip install 'weal[mcp]'", name=error.name
        ) from None
    server = MCPServer("weal", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING")
    reads = {name for name, _ in TOOLS["read"]}
    for name, tool in tools.allowed().items():
        hints = ToolAnnotations(
            read_only_hint=name in reads, destructive_hint=name == "withdraw_labels",
            open_world_hint=False,
        )  # fmt: skip
        server.add_tool(
            _with_errors(tool), name=name, description=inspect.getdoc(tool), annotations=hints
        )
    return server


def _with_errors(tool: Callable[..., Any]) -> Callable[..., Any]:
    """The tool, its anticipated errors as those of the protocol, its prints on standard error."""
    from mcp.server.mcpserver.exceptions import ToolError

    @functools.wraps(tool)
    def call(*args: Any, **given: Any) -> Any:
        try:
            with redirect_stdout(sys.stderr):
                return tool(*args, **given)
        except ImplausibleLabel as error:
            way_out = "ask the person, then call the tool again with checked"
            raise ToolError(
                f"{error.code}: {str(error).split('`')[0].strip()} {way_out}"
            ) from error
        except (WealError, ValueError, TypeError, OSError) as error:
            raise ToolError(f"{error_code(error)}: {error}") from error

    return call


def serve_stdio(tools: CampaignTools) -> None:
    """Serve until standard input ends."""
    make_server(tools).run("stdio")
