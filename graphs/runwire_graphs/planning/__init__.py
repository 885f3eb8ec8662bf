"""What the two planners share: the state and its reducers, the forms, the planner, and the tools of a task."""
