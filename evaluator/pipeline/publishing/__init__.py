"""From evidence to the main branch: what is to be published, judged, collected, committed or proposed."""
