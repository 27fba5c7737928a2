"""The pages of `weal serve`: label, watch and explore campaigns in a browser.

All state is in the store, so that the command line, several servers and the pages can be used side
by side. The server imports no numerics: everything that needs numpy, pandas or a model is a job of
the worker. Read in this order:

    sessions          sessions of browsers: small files
    rate_limits       requests and failed logins of a sender
    access            tokens and their files, one-time codes; the visit of an authenticated request,
                      and the access rules of a server
    actors            the actor of a request, and the check that it may do what it asks for
    request_body      size limits of bodies, and how refused bodies are discarded
    request_head      method, address and headers, without the root path of a proxy
    problems          errors as JSON for programs
    refusals          refusals before any view, and the security headers
    login             the visit of a request, the login form and its session
    middleware        the checks of every request
    server_folder     the folder of a store's server: tokens, uploads, results of the worker
    job_context       arguments and answers of jobs; the store and campaigns that jobs share
    candidate_search  the file of all candidates with predictions, searched and sorted with SQLite;
                      candidate_predictions: the contents of that file
    table_jobs        jobs on uploaded tables and worksheets
    table_summary     a table as the page of its plan shows it
    plan_form         the form of that page: columns, roles, sheet and header line
    jobs              all other jobs, and the table of all jobs by kind
    job_runners       run jobs in this process, or in a child process
    job_process       the program of the child process
    job_worker        queues of jobs, time limits, cancelling
    ledger_cache      ledgers of campaigns, up to date at every request
    next_step         the next step that a page shows
    request           the contexts that views get: ServerRead, CampaignRead, CampaignTell, ...
    request_log       one log record for each request
    svg_axes          axes and positions for SVG pictures
    picture           a picture as data: shapes, a legend, the table behind them
    picture_png       a picture drawn by matplotlib
    candidate_map     positions of candidates, labels and next rows on two axes
    map_picture       the map as a picture
    label_pictures    pictures of labels and predictions
    headline_picture  the headline of a status as a picture
    effect_pictures   partial dependence as pictures
    input_shares      the inputs that matter
    help_topics       the help of each page
    pages             one router for each page
    api               the API for programs; api_jobs: its jobs that need a model or read a table
    app               `create_app(store)`: pages, errors, templates, static files
    server            uvicorn with all of this: connections with a time limit for headers, and a
                      cap on anonymous ones

A view::

    @router.get("/c/{name}/watch")
    def watch(context: CampaignRead) -> Response:
        status = context.cached_result("status")  # .seq, .data; None if there is none yet
        return context.page("watch/page.html", status=status)

A view that writes is a POST with `CampaignAsk`, `CampaignTell`, `CampaignSkip`, `CampaignManage` or
`ServerManage`, which check the form's token, the permission of the actor and the person's name. A
result that pages show is requested with `context.cached_result(kind)`, which never waits. A job
that the person waits for is submitted with `context.submit(kind, ...)`; return
`context.show_progress(job, then=url)`, and at that url read `context.job_result(work, kind)`.

A new kind of job is a function in `jobs.JOBS` with a title in `job_worker.TITLES`. Templates are in
a folder for each page; `macros.html` has the hidden fields of forms, spark lines, intervals and
cells. A part of a page with hx-trigger="moved from:body" is loaded again when the campaign changes
(server-sent events, `static/weal.js`). Styles are the classes at the top of `static/weal.css`: the
content security policy allows no inline style or script, no hx-on and no js:.
"""
