"""Operations that report on a campaign: status."""

from weal.web.api.call import Answer, Call
from weal.web.api.operations import Example, Parameter, operation

TEXT = {"type": "string", "maxLength": 2000}


@operation(
    "GET", "/campaigns/{name}/status", "status", "Show the progress, and whether to continue.",
    may="read", answer="status",
    query=[
        Parameter("goal", TEXT, "What the labels are for, in place of the settings: maximise."),
        Parameter("until", TEXT, "When to stop, in place of the settings: labels = 80."),
    ],
    examples=[Example("now"), Example("another goal", query={"goal": "maximise"})],
)  # fmt: skip
async def status(call: Call) -> Answer:
    """Labels, progress towards the goal, calibration, and advice on stopping."""
    return await call.job_text("report", call=dict(call.query))
