"""What is asked under each contract: blocks of drafts, batches, candidates, models and trees, the simplest first."""
