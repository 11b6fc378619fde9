"""discovery.jsonl: a cluster with one custom resource."""

from tests.apiserver.replay.stage import Stage, World

STAGE = Stage(before={1: World.widgets, 29: World.touch})
