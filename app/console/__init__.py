"""The web console.

    GET  /console/<page>         HTML, from the page's data and the template of its name
    GET  /console/<page>.json    the same data
    POST /console/<page>/<action>   performs the action, then 303 to a page with its message

    views/*.py   a function per page: broker → data (a msgspec Struct); a function per action
    pages.py     the table of pages and actions: path, query, requirements
    site.py      ASGI: routing, rendering, error pages
    request.py   session, authenticated principal, forms, the frame of a page
    session.py   signed session cookies and CSRF tokens

No build step: Jinja, htmx and uPlot are local files, and pages load nothing from other servers.  Actions call the same
broker services as REST and Kafka, with the same ACLs and audit log.
"""
