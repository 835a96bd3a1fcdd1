"""The service: a crawl, or a scheduler for other crawlers, behind an HTTP API.

::

    cli: recrawl serve, recrawl run --serve
      serving.py     one process: store, frontier, event loop, HTTP server
        app.py       the application: middleware, routers, errors        create_app(service)
          auth.py    who may do what: tokens, sessions, Host header, sizes
          api/       one router per thing; each handler calls one method of Service
          dashboard/ pages for a browser; they call Service too
        service.py   Service: everything that handlers may ask for or do
          scheduler.py   leases and reports of other crawlers, politeness
          page_index.py  the columns that lists of pages are filtered and sorted by
"""
