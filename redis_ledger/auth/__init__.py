"""Authentication and authorization: ACL rules, SCRAM, API tokens, JSON Web Tokens, client certificates, quotas."""
