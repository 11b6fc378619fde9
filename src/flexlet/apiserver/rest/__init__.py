"""What a request does to the store: create, read, list, watch, update, patch, delete, for every kind alike.

`pipeline.Rest` is the one entrance; HTTP and the in-process cluster both stand on it, so it knows neither sockets
nor headers. It takes plain JSON values and gives finished bytes. What differs between kinds is in their
`Strategy`; what looks at other objects is admission; here is only what holds for all of them.
"""
