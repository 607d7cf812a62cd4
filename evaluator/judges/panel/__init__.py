"""The panel: models that decide what execution cannot, and the field's judges that are models.

    settings       models, endpoints, number of votes, prices
    voters         the models that vote on a submission, without its own models
    untrusted_data text from contributors and programs, quoted as data
    prompt         the questions, by judge
    api_types      requests, responses and errors of the API
    client         the openai SDK, with retries
    rate_limit     pauses that a server asks for
    budget         --max-calls and --max-usd
    parse_reply    the valid replies
    vote           from votes to a finding
    similarity     embeddings
    reply_cache    all replies, so that none is paid for twice and all can be replayed
    cached_client  the cache in front of the servers
    estimate       the cost of the questions before they are sent
    model_judges   `llm`, `exec-llm`, `embed` and `exec-embed`, as registered
    panel          the panel itself, which joins these

This module imports nothing. A board without a panel needs only `settings` and `model_judges`.
"""
