"""The API of `weal serve` for programs: JSON under /api/v1, with the fields of `--json`.

    schema_check      checks a request with the JSON Schemas of the OpenAPI document
    operations        what an operation is: path, permission, schemas, examples
    call              one call: the checked request, jobs, the answer
    parameters        the query, the idempotency key and the tags of preconditions
    request_content   bodies: strict JSON, uploads of tables
    application       the ASGI app: routes, parameters, problems
    openapi           the OpenAPI 3.1 document

Groups of operations: `campaigns`, `rows`, `reports`, `event_stream`. Rules are those of
`weal.campaign`; nothing here decides what is written.
"""
