"""What sites push: IndexNow and WebSub."""
