"""What flexlet costs: each module measures one thing and has ``run() -> list[(label, figure, unit)]``."""
