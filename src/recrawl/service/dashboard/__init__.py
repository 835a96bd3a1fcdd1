"""Pages for a browser: what the crawl does and how fresh its copies are, live.

::

    routes.py        which pages there are
      overview.py, pages.py, page.py, changes.py, hosts.py, budget.py, settings.py
                     one module per page: reads what it shows, calls `Service`, renders a template
      live.py        samples the service and sends what is new to every open browser
      rendering.py   templates, and the only place where untrusted text is escaped
      forms.py       forms that only our own pages can send
    templates/       HTML (Jinja2); static/ has the style sheet, scripts, and uPlot (MIT)
"""
