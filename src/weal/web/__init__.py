"""The pages of `weal serve`: label, watch and understand campaigns in a browser.

A page is a view: all state is in the store, so that the command line, other servers and the page
may be used side by side. Read in this order:

    token         the tokens of a server, their files, and the principal (name, role) of each
    sessions      what a browser gets for a token: kept as digests, they expire and can be ended
    access        the visit of a request: its principal, found by token or session; one-time codes
    request_body  how much of a body is read
    responses     the security headers of every answer, and refusals
    guard         what every request meets first: host, login, visit, origin, size
    connections   a time limit for headers, a cap on connections without credentials
    places        the folder of a store's server: tokens, uploads, what the worker has found
    books         ledgers of the campaigns, kept up to date with the store
    jobs          what the worker can do: functions of a campaign that need numerics
    runners       who does a job: a process beside the server, or this one
    job_queue     jobs in turn, what is waited for first; their time limit, and their end by request
    worker        the queues of a server: for models, for tables, for labels of worksheets
    kept          what it found, kept as files in the server's folder
    desk          all of the above in one hand: what views are given
    app           `create_app(store)`: pages, errors, static files
    serving       a server for it

and one module for each page: `campaigns` (with `making`: a table becomes a campaign), `bench`
(with `sheets`: worksheets), `watch`, `explore`, `options` (settings and export); `news`
(server-sent events), `work` (how far a job is), `logout` (the session of this browser). Templates
are in a folder for each page.

How a view gets what it needs::

    @router.get("/c/{name}/watch")
    def watch(here: Here) -> Response:
        found = here.found("status")  # what the worker kept last: .seq, .data; None: nothing
        return here.page("watch/page.html", status=found)

`here` (`request.Here`) has `name`, `ledger` (now; plain Python, no model), `who`, `now`, and

    here.found(kind)         what the worker found last (`server_folder.JobResult`, with the number
    of the event
                             that it was found after), and the worker is asked for it where that is
                             no longer the last event; None: nothing yet. Never waits.
    here.rows(ids)           cells of candidates by id; {} until the worker has read the table
    here.campaign()          a `Campaign` to write with, in the name of who sits there
    here.submit(kind, ...)   a job that somebody waits for: answer `here.progress(job, then=url)`,
                             and at that url `here.done(work, kind)` has its answer, or raises its
                             error; None where the id is that of another kind of job
    here.page(template, **)  a page, or a part of one (`here.is_part`: htmx asks), escaped

A new kind of result is a function in `jobs` listed in `jobs.JOBS`, with a title in
`job_worker.TITLES`. The server imports no numerics: whatever needs numpy, pandas or a model is a
job. Writing views are POSTs that begin with `here: Writing`, which checks the form's token and who
it is. In templates: `macros.html` has the
hidden fields of a form, spark lines, intervals and cells; parts that are to be asked for again when
anything moves have hx-trigger="moved from:body" (server-sent events, `static/weal.js`).
Styles are classes in `static/weal.css`, listed at its top: the policy of the pages allows no
inline style, no inline script, no hx-on and no js: (SVG attributes and uPlot are fine).
"""
