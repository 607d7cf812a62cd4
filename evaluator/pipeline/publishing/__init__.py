"""Publishing: plan, collect evidence, judge, commit verdicts to main or propose them as a rescore, and verify them."""
