"""The console: what redis-ledger is doing, as pages.

    GET  /console/<page>         HTML, from the page's data and the template of its name
    GET  /console/<page>.json    the same data
    POST /console/<page>/<act>   changes something, then 303 to a page that says what was done

    views/*.py   a function a page: broker → data (a msgspec Struct); a function an act
    pages.py     the table of them: path, query, what the caller needs
    site.py      ASGI: finds the page, asks who it is, renders, tells errors as pages
    session.py   who is logged in, and that a form was ours

No build step: Jinja, htmx and uPlot are files here, and nothing is asked of any other server.  What an act does is done
by the same use case as through the other doors, by the same rules, and is noted in the audit log.
"""
