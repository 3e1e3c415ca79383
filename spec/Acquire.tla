---- MODULE Acquire ----
\* One lock on one Redis: acquire and release, with numbers, epochs and commands of unknown outcome.
\*
\* Modelled: clients with one owner each, who send one command at a time (reentrant/sequencer.go). A command
\* runs at once, at any later time, or never; so does its answer arrive. A client may stop waiting for
\* an answer at any moment. Then the outcome is unknown, and its next command, which may be the
\* same one with a new number, sets the epoch (lua/acquire.lua, lua/release.lua). A call that has left has its
\* field freed by a clean-up, which is a release. Time is an integer, and a lease ends by it.
\*
\* Left out: renewal and several owners in a client (HandOff), waiting, a Redis that forgets and
\* forced release (Forget), clocks of different speeds, the end of an epoch after 60 s, and a wrapper around
\* go-redis that sends one number twice.
\*
\* Claims: Exclusive, no two clients trust the lock at once; Backed, whoever trusts it stands in Redis; Released,
\* a client that has heard that its lock is free has nothing left in Redis, and no late command brings it back.
\*
\* Mistakes (Bug), each of which violates a claim:
\*   no-epoch            no command sets the epoch
\*   acquire-no-epoch    acquire does not look at the epoch
\*   release-no-epoch    release does not look at the epoch
\*   epoch-unconfirmed   the doubt ends with a release that was run without its epoch, as Redis was full
\*   valid-from-receipt  the lease counts from the answer, and not from before the command was sent
\*   release-any         release does not look at whose field it is
\*   trust-to-answer     the holder trusts the lock until its release is answered
EXTENDS Naturals, TLC
CONSTANTS Clients, Lease, MaxTime, MaxNum, MaxDoubts, Bug
VARIABLES now, owner, expiry, epoch,        \* Redis
          net, answer,                      \* commands on their way; the answer to each client's newest command
          st, num, sent, valid, doubt,      \* clients
          doubts                            \* how often a client has given up, to bound it
redis == <<owner, expiry, epoch>>
clients == <<st, num, sent, valid, doubt, doubts>>
Symmetric == Permutations(Clients)

None == ""
Nothing == ""

Init ==
  /\ now = 0 /\ owner = None /\ expiry = 0 /\ net = {} /\ doubts = 0
  /\ epoch = [c \in Clients |-> 0]
  /\ answer = [c \in Clients |-> Nothing]
  /\ st = [c \in Clients |-> "idle"]
  /\ num = [c \in Clients |-> 0]
  /\ sent = [c \in Clients |-> 0]
  /\ valid = [c \in Clients |-> 0]
  /\ doubt = [c \in Clients |-> FALSE]

Trusts(c) == now < valid[c] /\ st[c] \in (IF Bug = "trust-to-answer" THEN {"holds", "frees"} ELSE {"holds"})

\* A command leaves with the next number, and with an epoch if an earlier one is in doubt.
Send(c, kind) ==
  /\ num[c] < MaxNum
  /\ num' = [num EXCEPT ![c] = @ + 1]
  /\ net' = net \cup {[kind |-> kind, c |-> c, n |-> num[c] + 1, e |-> doubt[c] /\ Bug # "no-epoch"]}
  /\ valid' = IF Bug = "trust-to-answer" THEN valid ELSE [valid EXCEPT ![c] = 0]
  /\ UNCHANGED <<now, redis, answer, doubt, doubts>>

\* The first attempt, the next one of a waiter, and the one after an attempt without an answer.
Ask(c) ==
  /\ st[c] \in {"idle", "lost"}
  /\ Send(c, "acquire")
  /\ st' = [st EXCEPT ![c] = "asks"] /\ sent' = [sent EXCEPT ![c] = now]

\* The holder's release, and the clean-up for a call that has left.
Release(c) ==
  /\ st[c] = "holds" \/ (st[c] = "idle" /\ doubt[c])
  /\ Send(c, "release")
  /\ st' = [st EXCEPT ![c] = "frees"] /\ UNCHANGED sent

\* No answer in time.
GiveUp(c) ==
  /\ st[c] \in {"asks", "frees"} /\ doubts < MaxDoubts
  /\ doubts' = doubts + 1
  /\ st' = [st EXCEPT ![c] = "idle"]
  /\ doubt' = [doubt EXCEPT ![c] = TRUE]
  /\ answer' = [answer EXCEPT ![c] = Nothing]
  /\ sent' = [sent EXCEPT ![c] = 0] /\ valid' = [valid EXCEPT ![c] = 0]
  /\ UNCHANGED <<now, redis, net, num>>

\* The holder is told at the end of its validity.
LeaseEnds(c) ==
  /\ st[c] = "holds" /\ now >= valid[c]
  /\ st' = [st EXCEPT ![c] = "lost"] /\ valid' = [valid EXCEPT ![c] = 0]
  /\ UNCHANGED <<now, redis, net, answer, num, sent, doubt, doubts>>

Stale(m, e) ==
  /\ m.n < e
  /\ ~(Bug = "acquire-no-epoch" /\ m.kind = "acquire")
  /\ ~(Bug = "release-no-epoch" /\ m.kind = "release")

\* Whoever does not wait for the answer any more does not get it.
Reply(m, a) ==
  answer' = IF m.n = num[m.c] /\ st[m.c] \in {"asks", "frees"} THEN [answer EXCEPT ![m.c] = a] ELSE answer

Acquire(m) ==
  IF owner \in {None, m.c}
  THEN owner' = m.c /\ expiry' = now + Lease /\ Reply(m, "granted")
  ELSE UNCHANGED <<owner, expiry>> /\ Reply(m, "busy")

Free(m, set) ==
  /\ IF owner = m.c \/ Bug = "release-any" THEN owner' = None /\ expiry' = 0 ELSE UNCHANGED <<owner, expiry>>
  /\ Reply(m, IF m.e /\ ~set THEN "done, no epoch" ELSE "done")

\* Redis runs a command. Commands that have become stale leave net at once: to run them would change nothing, and
\* nobody waits for their answers. A release is run by a full Redis too, which cannot set the epoch.
Run(m, set) ==
  /\ set \/ (m.kind = "release" /\ m.e)
  /\ epoch' = IF m.e /\ set THEN [epoch EXCEPT ![m.c] = m.n] ELSE epoch
  /\ net' = {o \in net \ {m} : ~Stale(o, epoch'[o.c])}
  /\ IF m.kind = "acquire" THEN Acquire(m) ELSE Free(m, set)
  /\ UNCHANGED <<now, clients>>

\* The answer to a command that has set the epoch ends the doubt; a command is in doubt only if it was sent
\* before that one.
Answer(c) ==
  /\ answer[c] # Nothing
  /\ answer' = [answer EXCEPT ![c] = Nothing]
  /\ doubt' = [doubt EXCEPT ![c] = answer[c] = "done, no epoch" /\ Bug # "epoch-unconfirmed"] /\ sent' = [sent EXCEPT ![c] = 0]
  /\ IF answer[c] = "granted"
     THEN /\ st' = [st EXCEPT ![c] = "holds"]
          /\ valid' = [valid EXCEPT ![c] = (IF Bug = "valid-from-receipt" THEN now ELSE sent[c]) + Lease]
     ELSE st' = [st EXCEPT ![c] = "idle"] /\ valid' = [valid EXCEPT ![c] = 0]
  /\ UNCHANGED <<now, redis, net, num, doubts>>

\* Redis removes a lock whose lease is over.
Tick ==
  /\ now < MaxTime /\ now' = now + 1
  /\ IF expiry <= now' THEN owner' = None /\ expiry' = 0 ELSE UNCHANGED <<owner, expiry>>
  /\ UNCHANGED <<epoch, net, answer, clients>>

Next ==
  \/ Tick
  \/ \E c \in Clients : Ask(c) \/ Release(c) \/ GiveUp(c) \/ LeaseEnds(c) \/ Answer(c)
  \/ \E m \in net, set \in BOOLEAN : Run(m, set)

Exclusive == \A a, b \in Clients : a # b => ~(Trusts(a) /\ Trusts(b))
Backed == \A c \in Clients : Trusts(c) => owner = c
Released == \A c \in Clients : st[c] = "idle" /\ ~doubt[c] => owner # c
====
