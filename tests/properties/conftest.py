"""Property tests: no deadlines (machines are busy), and few enough examples that nobody waits for them."""

from hypothesis import settings

settings.register_profile("flexlet", deadline=None, max_examples=60)
settings.load_profile("flexlet")
