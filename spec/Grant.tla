---- MODULE Grant ----
\* A release that grants the lock: it writes the field of the next waiter itself, and tells the waiter so.
\*
\* Modelled: clients with two owners each. A client sends one numbered command at a time (reentrant/sequencer.go). A
\* command runs at once, at any later time, or never. One without an answer is in doubt, and the next one sets the
\* epoch. acquire takes a free lock. If the lock is busy, acquire registers the client for one owner, with a nonce, which is
\* the command's number here; without a subscription it leaves an earlier registration as it is. A release or a leave that
\* frees the lock grants it to a registered client for the claim time, and publishes the nonce (lua/grant.lua). The message
\* arrives at once, later, twice, or never. An owner that leaves has its place taken by the other one, whose acquire names the
\* departed owner and takes back what that one was granted; so does a leave (lua/leave.lua). Renewals have no number and
\* run at any later time; the first one of a granted hold is its claim. Time is an integer, and a lease ends by it.
\*
\* Wider than the code: a release takes out any registered clients, and grants the lock to one of them or to none. So
\* the model needs no order of waiters, none that is only woken, and no grant that is taken back as nobody heard it.
\*
\* Narrower, and no run is lost: an answer arrives at once or never, since a client whose answer is late does nothing meanwhile. What
\* has no effect any more is forgotten at once: stale commands, messages with an earlier nonce, registrations older than
\* the claim time, which a release only wakes.
\*
\* Left out: the turn of a woken client, fencing, Redisson, hand-off inside a client and re-entry (HandOff), forced release and
\* a Redis that forgets (Forget), a full Redis that runs a release without its epoch (Acquire), clocks of different
\* speeds, the end of an epoch after 60 s.
\*
\* Claims: Backed, whoever trusts the lock has its own field in Redis; Exclusive, no two clients trust it at once; NothingLeft,
\* a client that has nothing to wait for, to hold or to free has neither a field nor a registration in Redis.
\*
\* Mistakes (Bug), each of which violates a claim:
\*   nonce-not-compared     any message to a waiter counts as its grant
\*   ask-keeps-nonce        an acquire does not clear the nonce that the client expects
\*   release-keeps-nonce    a clean-up does not clear it
\*   leave-keeps-nonce      a leave does not clear it
\*   other-owner            the owner that waits now takes the grant of the one that has left
\*   valid-from-receipt     the claim time counts from the message, and not from before the attempt was sent
\*   lease-at-once          a grant is trusted for the lease, before a renewal
\*   no-epoch               no command sets the epoch
\*   leave-without-number   a leave does not look at the epoch
\*   leave-sets-no-epoch    a leave sets none, and its answer ends the doubt all the same
\*   leave-forgets-field    a leave does not take back what its owners were granted
\*   departed-not-named     nor does an acquire for another owner
\*   granted-but-registered an acquire that gets the lock leaves the client registered
\*   renewal-retakes        a renewal takes a free lock, as an acquire would
EXTENDS Naturals, FiniteSets, TLC
CONSTANTS Clients, Owners, Claim, Lease, MaxTime, MaxNum, MaxDoubts, MaxRenewals, Bug
VARIABLES now, field, expiry, reg,                   \* Redis
          net, msgs, late,                           \* commands, messages and renewals on their way
          st, who, num, sent, valid, doubt,          \* clients
          expects, may, owed,
          doubts, renewals                           \* how often, to bound it
redis == <<field, expiry, reg>>
local == <<expects, may, owed>>
Symmetric == Permutations(Clients) \cup Permutations(Owners)

NoOne == ""
None == <<>>
NoNonce == [n |-> 0]

Init ==
  /\ now = 0 /\ field = None /\ expiry = 0 /\ reg = [c \in Clients |-> NoNonce]
  /\ net = {} /\ msgs = {} /\ late = {}
  /\ st = [c \in Clients |-> "idle"]
  /\ who = [c \in Clients |-> NoOne]                \* for whom the client sends or holds
  /\ num = [c \in Clients |-> 0]
  /\ sent = [c \in Clients |-> 0]
  /\ valid = [c \in Clients |-> 0]
  /\ doubt = [c \in Clients |-> FALSE]
  /\ expects = [c \in Clients |-> NoNonce]          \* the grant that a waiter would trust
  /\ may = [c \in Clients |-> {}]                   \* owners to whom a release may have granted the lock
  /\ owed = [c \in Clients |-> {}]                  \* owners whose fields a clean-up is to free
  /\ doubts = 0 /\ renewals = 0

Trusts(c) == st[c] = "holds" /\ now < valid[c]

\* ---- what the clients send

\* A renewal of a hold that has ended may still run. Nobody hears its answer.
Orphan(c) == {IF r.c = c THEN [r EXCEPT !.live = FALSE, !.sent = 0] ELSE r : r \in late}

\* The messages that a client expects, or will if its newest command is answered.
Current(ms) ==
  IF Bug = "nonce-not-compared" THEN ms
  ELSE {m \in ms : expects'[m.c].n = m.n \/ (st'[m.c] = "asks" /\ num'[m.c] = m.n)}

\* Every command clears what the client expects, before it leaves: it may take back what was granted meanwhile.
Send(c, kind, o, owners) ==
  /\ num[c] < MaxNum
  /\ num' = [num EXCEPT ![c] = @ + 1]
  /\ net' = net \cup {[kind |-> kind, c |-> c, o |-> o, owners |-> owners, n |-> num[c] + 1,
                       e |-> doubt[c] /\ Bug # "no-epoch" /\ ~(Bug = "leave-sets-no-epoch" /\ kind = "leave")]}
  /\ who' = [who EXCEPT ![c] = o]
  /\ st' = [st EXCEPT ![c] = IF kind = "acquire" THEN "asks" ELSE "frees"]
  /\ sent' = [sent EXCEPT ![c] = IF kind = "acquire" THEN now ELSE 0]
  /\ valid' = [valid EXCEPT ![c] = 0]
  /\ expects' = IF <<kind, Bug>> \in {<<"acquire", "ask-keeps-nonce">>, <<"release", "release-keeps-nonce">>,
                                      <<"leave", "leave-keeps-nonce">>}
                THEN expects ELSE [expects EXCEPT ![c] = NoNonce]
  /\ late' = Orphan(c)
  /\ msgs' = Current(msgs)
  /\ UNCHANGED <<now, redis, doubt, may, owed, doubts, renewals>>

\* A call's first attempt, its next one, or that of the owner that waited behind it.
Ask(c, o) == st[c] = "idle" /\ Send(c, "acquire", o, IF Bug = "departed-not-named" THEN {} ELSE may[c] \ {o})

Release(c) == st[c] = "holds" /\ Send(c, "release", who[c], {})

\* Also while another owner of the client waits, or the same one again.
CleanUp(c, o) == st[c] = "idle" /\ o \in owed[c] /\ Send(c, "release", o, {})

\* No owner of the client waits any more.
Leave(c) == st[c] = "idle" /\ may[c] # {} /\ Send(c, "leave", NoOne, may[c])

\* The claim of a holder that a release has granted the lock is such a renewal.
Renew(c) ==
  /\ Trusts(c) /\ renewals < MaxRenewals
  /\ renewals' = renewals + 1
  /\ late' = late \cup {[c |-> c, o |-> who[c], sent |-> now, live |-> TRUE, id |-> renewals]}
  /\ UNCHANGED <<now, redis, net, msgs, st, who, num, sent, valid, doubt, local, doubts>>

\* ---- what Redis does

Registered(r) == {c \in Clients : r[c] # NoNonce}

\* The lock has been freed, and r is who waits.
PassOn(r) ==
  \E out \in SUBSET Registered(r) :
    /\ reg' = [c \in Clients |-> IF c \in out THEN NoNonce ELSE r[c]]
    /\ \/ field' = None /\ expiry' = 0 /\ msgs' = Current(msgs)
       \/ \E c \in out :
            /\ field' = <<c, r[c].o>> /\ expiry' = now + Claim
            /\ msgs' = Current(msgs \cup {[c |-> c, n |-> r[c].n]})

Fields(c, owners) == {<<c, o>> : o \in owners}
Without(f, gone) == IF f \in gone THEN None ELSE f

\* For how long a client's hold lasts that Redis grants or renews now. In spec Trace calls ask for different leases.
LeaseOf(c) == Lease

\* Spec Trace, which has the turn, says otherwise for a free lock that is kept for a client that was woken.
Kept(m) == FALSE

\* The lock, after what departed owners were granted was taken back, is free or the owner's own.
Free(m) == Without(field, Fields(m.c, m.owners)) \in {None, <<m.c, m.o>>} /\ ~Kept(m)

\* What a release is to know of the client. In spec Trace it may be nothing: a release only wakes that client.
Registration(m) == [n |-> m.n, o |-> m.o, at |-> now]

Acquire(m, registers) ==
  /\ IF Free(m)
     THEN /\ field' = <<m.c, m.o>> /\ expiry' = now + LeaseOf(m.c)
          /\ reg' = IF Bug = "granted-but-registered" THEN reg ELSE [reg EXCEPT ![m.c] = NoNonce]
     ELSE /\ reg' = IF registers THEN [reg EXCEPT ![m.c] = Registration(m)] ELSE reg
          /\ UNCHANGED <<field, expiry>>
  /\ msgs' = Current(msgs)

ReleaseRuns(m) == IF field = <<m.c, m.o>> THEN PassOn(reg) ELSE UNCHANGED redis /\ msgs' = Current(msgs)

LeaveRuns(m) ==
  LET left == [reg EXCEPT ![m.c] = NoNonce]
      f == Without(field, IF Bug = "leave-forgets-field" THEN {} ELSE Fields(m.c, m.owners)) IN
  IF f = None THEN PassOn(left) ELSE reg' = left /\ UNCHANGED <<field, expiry>> /\ msgs' = Current(msgs)

\* ---- what the clients hear

Idle(c) == st' = [st EXCEPT ![c] = "idle"] /\ who' = [who EXCEPT ![c] = NoOne]

\* The answer to a command that has set the epoch, if there was a doubt, ends it.
Hears(m, registers) ==
  LET c == m.c IN
  /\ doubt' = [doubt EXCEPT ![c] = FALSE]
  /\ sent' = [sent EXCEPT ![c] = 0]
  /\ CASE m.kind = "acquire" /\ Free(m) /\ now < sent[c] + LeaseOf(c) ->
            /\ st' = [st EXCEPT ![c] = "holds"] /\ valid' = [valid EXCEPT ![c] = sent[c] + LeaseOf(c)]
            /\ may' = [may EXCEPT ![c] = {}] /\ owed' = [owed EXCEPT ![c] = @ \ {m.o}]
            /\ UNCHANGED <<who, expects>>
       [] m.kind = "acquire" /\ Free(m) /\ now >= sent[c] + LeaseOf(c) -> \* too late
            /\ Idle(c) /\ may' = [may EXCEPT ![c] = {}] /\ owed' = [owed EXCEPT ![c] = @ \cup {m.o}]
            /\ UNCHANGED <<valid, expects>>
       [] m.kind = "acquire" /\ ~Free(m) /\ ~registers -> Idle(c) /\ UNCHANGED <<valid, expects, may, owed>>
       [] m.kind = "acquire" /\ ~Free(m) /\ registers ->
            /\ Idle(c) /\ may' = [may EXCEPT ![c] = {m.o}]
            /\ expects' = IF now < sent[c] + Claim \/ Bug = "valid-from-receipt"
                          THEN [expects EXCEPT ![c] = [n |-> m.n, o |-> m.o, sent |-> sent[c]]] ELSE expects
            /\ UNCHANGED <<valid, owed>>
       [] m.kind = "release" -> Idle(c) /\ owed' = [owed EXCEPT ![c] = @ \ {m.o}] /\ UNCHANGED <<valid, expects, may>>
       [] m.kind = "leave" -> Idle(c) /\ may' = [may EXCEPT ![c] = {}] /\ UNCHANGED <<valid, expects, owed>>

\* For whom a release may grant the lock, when an acquire has no answer. In spec Trace some acquires ask for no grant.
Asked(c) == {who[c]}

\* No answer in time: the outcome is unknown.
Doubts(c) ==
  /\ doubts < MaxDoubts /\ doubts' = doubts + 1
  /\ doubt' = [doubt EXCEPT ![c] = TRUE]
  /\ Idle(c) /\ sent' = [sent EXCEPT ![c] = 0]
  /\ may' = [may EXCEPT ![c] = IF st[c] = "asks" THEN @ \cup Asked(c) ELSE @]
  /\ owed' = [owed EXCEPT ![c] = @ \cup ({who[c]} \ {NoOne})]
  /\ UNCHANGED <<valid, expects>>

\* Before the command runs. After it, Run does the same.
GiveUp(c) ==
  /\ st[c] \in {"asks", "frees"}
  /\ Doubts(c)
  /\ UNCHANGED <<now, redis, net, late, num, renewals>>
  /\ msgs' = Current(msgs)

\* The client still waits for the answer.
Awaited(m) == m.n = num[m.c] /\ st[m.c] \in {"asks", "frees"}

\* Nobody waits for the answer: does the command change anything?
Matters(m) == m.e \/ m.kind # "release" \/ field = <<m.c, m.o>>

\* A command that has set the epoch makes those before it stale.
Run(m, heard, registers) ==
  /\ registers \/ (m.kind = "acquire" /\ ~Free(m))
  /\ net' = {o \in net \ {m} : ~(m.e /\ o.c = m.c /\ o.n < m.n /\ ~(Bug = "leave-without-number" /\ o.kind = "leave"))}
  /\ CASE heard -> Awaited(m) /\ Hears(m, registers) /\ UNCHANGED doubts
       [] ~heard /\ Awaited(m) -> Doubts(m.c)
       [] OTHER -> Matters(m) /\ UNCHANGED <<st, who, sent, valid, doubt, local, doubts>>
  /\ UNCHANGED <<now, num, late, renewals>>
  /\ CASE m.kind = "acquire" -> Acquire(m, registers) [] m.kind = "release" -> ReleaseRuns(m) [] m.kind = "leave" -> LeaveRuns(m)

\* A waiter hears that a release has granted it the lock. No command of its client is on its way then.
Hear(m) ==
  LET c == m.c e == expects[c] begin == IF Bug = "valid-from-receipt" THEN now ELSE e.sent IN
  /\ st[c] = "idle" /\ e # NoNonce
  /\ m.n = e.n \/ Bug = "nonce-not-compared"
  /\ now < begin + Claim
  /\ \E o \in IF Bug = "other-owner" THEN Owners ELSE {e.o} :
       /\ who' = [who EXCEPT ![c] = o]
       /\ owed' = [owed EXCEPT ![c] = @ \ {o}]
  /\ st' = [st EXCEPT ![c] = "holds"]
  /\ valid' = [valid EXCEPT ![c] = begin + (IF Bug = "lease-at-once" THEN Lease ELSE Claim)]
  /\ expects' = [expects EXCEPT ![c] = NoNonce]
  /\ may' = [may EXCEPT ![c] = {}]
  /\ UNCHANGED <<now, redis, net, late, num, sent, doubt, doubts, renewals>>
  /\ msgs' = Current(msgs)

Max(a, b) == IF a > b THEN a ELSE b

\* A renewal raises the TTL of its owner's field. If the field is not there, the holder hears that it has lost the lock.
RunRenewal(r, heard) ==
  LET held == field = <<r.c, r.o>> \/ (Bug = "renewal-retakes" /\ field = None) IN
  /\ held \/ (r.live /\ heard) \* otherwise nothing happens
  /\ heard => r.live
  /\ late' = late \ {r}
  /\ IF held THEN field' = <<r.c, r.o>> /\ expiry' = Max(expiry, now + LeaseOf(r.c)) ELSE UNCHANGED <<field, expiry>>
  /\ CASE ~heard -> UNCHANGED <<st, who, valid, owed>>
       [] heard /\ held -> valid' = [valid EXCEPT ![r.c] = Max(@, r.sent + LeaseOf(r.c))] /\ UNCHANGED <<st, who, owed>>
       [] heard /\ ~held -> /\ Idle(r.c) /\ valid' = [valid EXCEPT ![r.c] = 0]
                            /\ owed' = [owed EXCEPT ![r.c] = @ \cup {r.o}]
  /\ UNCHANGED <<now, reg, net, msgs, num, sent, doubt, expects, may, doubts, renewals>>

\* Redis removes a lock whose lease is over. A holder is told at the end of its validity; what a renewal may have
\* left of its lock is freed by a clean-up.
Tick ==
  LET ended == {c \in Clients : st[c] = "holds" /\ valid[c] <= now + 1}
      old(e) == e # NoNonce /\ e.sent + Claim <= now + 1 /\ Bug # "valid-from-receipt" IN
  /\ now < MaxTime /\ now' = now + 1
  /\ IF expiry <= now' THEN field' = None /\ expiry' = 0 ELSE UNCHANGED <<field, expiry>>
  /\ reg' = [c \in Clients |-> IF reg[c] # NoNonce /\ reg[c].at + Claim <= now' THEN NoNonce ELSE reg[c]]
  /\ st' = [c \in Clients |-> IF c \in ended THEN "idle" ELSE st[c]]
  /\ who' = [c \in Clients |-> IF c \in ended THEN NoOne ELSE who[c]]
  /\ valid' = [c \in Clients |-> IF c \in ended THEN 0 ELSE valid[c]]
  /\ owed' = [c \in Clients |-> IF c \in ended THEN owed[c] \cup {who[c]} ELSE owed[c]]
  /\ late' = {IF r.c \in ended THEN [r EXCEPT !.live = FALSE, !.sent = 0] ELSE r : r \in late}
  /\ expects' = [c \in Clients |-> IF old(expects[c]) THEN NoNonce ELSE expects[c]]
  /\ UNCHANGED <<net, num, sent, doubt, may, doubts, renewals>>
  /\ msgs' = Current(msgs)

Next ==
  \/ Tick
  \/ \E c \in Clients : Release(c) \/ Leave(c) \/ Renew(c) \/ GiveUp(c) \/ \E o \in Owners : Ask(c, o) \/ CleanUp(c, o)
  \/ \E m \in net, heard, registers \in BOOLEAN : Run(m, heard, registers)
  \/ \E m \in msgs : Hear(m)
  \/ \E r \in late, heard \in BOOLEAN : RunRenewal(r, heard)

Exclusive == \A a, b \in Clients : a # b => ~(Trusts(a) /\ Trusts(b))
Backed == \A c \in Clients : Trusts(c) => field = <<c, who[c]>>
NothingLeft ==
  \A c \in Clients : st[c] = "idle" /\ ~doubt[c] /\ may[c] = {} /\ owed[c] = {} =>
    reg[c] = NoNonce /\ field \notin Fields(c, Owners)
====
