"""What the parts of the API server agree on: kinds, strategies, callers, admission, views.

Data and Protocols only, so that kinds, admission, auth, the REST pipeline and HTTP can be read and tested apart.
Objects are plain JSON dicts inside the server and finished bytes in the store.
"""
