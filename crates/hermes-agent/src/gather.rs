//! What the system prompt is made of, gathered from the machine: SOUL.md, project files, memory, skills, the place.
