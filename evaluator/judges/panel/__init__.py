"""Ask a panel of models about cases that execution cannot decide, and provide judges that use a model.

    settings       models, endpoints, number of votes, prices
    voters         the models that vote on a submission, without the submission's own models
    untrusted_data text from contributors and programs, quoted as data
    prompt         the questions of each judge
    published_prompts  the questions of a paper, from the clones of its authors
    vote_request   the request for one vote
    parse_reply    the valid replies
    vote           the finding that follows from the votes
    similarity     embeddings
    sentence_model embeddings by a model on this machine
    reply_cache    all replies, so that no reply is paid for twice and every reply can be replayed
    cached_client  the cache in front of the servers
    open_questions the requests without a reply, in the order of the panel
    batch_files    requests and replies in files, for batches and for models without a server
    estimate       the cost of the questions before they are sent
    model_judges   the registered judges `llm`, `exec-llm`, `embed` and `exec-embed`
    panel          the panel itself, which uses the other modules

`model_server` sends the requests. This module imports nothing. A board without a panel needs only `settings` and
`model_judges`.
"""
