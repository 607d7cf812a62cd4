"""Requests to servers of models with the API of OpenAI: a client with retries, its limits, and its errors."""
