"""The panel of models: what execution cannot tell, and the field's judges that are models.

    settings     which models, where, how many votes, what they cost
    seats        who votes on a submission: never a model that it names as its own
    fields       a stranger's text as data that cannot be anything else
    prompt       what is asked, by judge
    wire client  requests and answers; the openai SDK, retries
    gate         rate limits
    budget       --max-calls and --max-usd
    reply tally  the menu, and from votes to a finding
    similarity   embeddings
    ledger       every reply, so that none is bought twice and all can be replayed
    purchase     the ledger before the servers
    judges       `llm`, `exec-llm`, `embed`, `exec-embed` as the registry has them
    panel        joins these

Nothing is imported here: a board without a panel needs none of it but `settings` and `judges`.
"""
