"""One model of what a client of redis-ledger can see, and histories of overlapping requests that are compared with it.

seed ─▶ driver ─▶ operations ─▶ brokers in this process, one Redis      steps overlap: a broker is held at one of
          │                          │                                  its calls to Redis while others go on
          ▼                          ▼
        pairs     history: invoke, return, gone ─▶ checker ─▶ spec, state     is there an order of the requests
          ▲                                           │                       that explains every answer?
        shrink ◀──────────── failure ─────────────────┘

state        what is stored, as its users see it: immutable
spec*        per operation, the answers that are allowed and the state after each; written from docs/
checker      linearizability, by Wing and Gong: which operations have taken effect, and in which order
brokers      brokers and their doors: REST, Kafka; calls to Redis can be held
operations   the table of operations: arguments, door, what they touch; and what is not in it yet, with reasons
driver       draws steps by seed, runs them, writes the history
stories      what a client goes through whose answer was lost
pairs        how often each operation ran while another one was open, or right after it
shrink       makes a failing history small

python -m tests.model --seed 7                 one history
python -m tests.model --minutes 5              new seeds; prints the pairs that were run
"""
