---- MODULE Trace ----
\* Is what Redis executed about one lock a behaviour of Grant? internal/tracecheck records it from the library under chaos and
\* writes it as the module TraceData: Traces is a sequence of traces. Each has what its scripts did (entries), in Redis'
\* order, and what the clients sent (commands); the n-th command of a client has number n. Times are in microseconds.
\*
\* An entry says what a script found and wrote. Its step is the step of Grant (Run, RunRenewal), which must find and write
\* the same. The trace does not show what clients do: they send (Ask, Release, CleanUp, Leave), give up (GiveUp), and hear a
\* grant (Hear). TLC finds these steps. In the model a client sends as late as it can, just before Redis runs the first of
\* its next commands. So a client trusts the lock in the model for as long as in the program, or longer.
\*
\* A trace is accepted if TLC reaches its end by at least one behaviour, and no behaviour violates a claim: Backed or Exclusive.
\*
\* What the library does and Grant leaves out:
\*   TraceKept   a free lock is kept for the client that was woken (the turn)
\*   RunCount    re-entry, an inner release, and Extend
\*   RunTransfer a hand-off inside a client. A write-behind hand-off shows when its field is moved
\*   RunForce    a forced release. The claims excuse a client that trusts the lock then, until that trust ends
\*   RunBeside   a clean-up of one owner runs while the client holds the lock for another owner
\*   RunAgain    a command runs twice
\*   Lose        a command never runs
\*   Lapse       a client stops trusting the lock before the model does, since it sent its command earlier
\*   Owes        a clean-up is sent that is not needed any more
\*
\* Stricter than Grant: a release that finds registered clients takes out at least one, and exactly those that the entry names.
\*
\* Wider than Redis: by Tolerance, since MONITOR's time stamp is not the time by which Redis ends a lease. A script that ran
\* as the server was stopped goes by an earlier time (since). Delay bounds how long
\* a command is on its way and is answered all the same: it is the longest ReadTimeout of the clients.
\*
\* Left out: linger, a Redis that forgets or refuses, Redisson.
EXTENDS Grant, Sequences, Integers, TraceData
CONSTANTS Tolerance, Delay, Verbose
VARIABLES id, at,     \* the trace, and the entry that is next
          epoch,      \* Redis: commands numbered below it are stale
          turn,       \* Redis: for whom the free lock is kept
          trusted,    \* fields whose owners have trusted the lock, whose renewals may be late
          queued,     \* owners that may have been owed a clean-up
          forced      \* clients that trusted the lock when it was forced open
client == <<st, who, num, sent, valid, doubt, local, doubts>>

E == Traces[id].entries[at]
More == at <= Len(Traces[id].entries)
Command(c, n) == Traces[id].commands[c][n]
Following(c) == num[c] + 1

\* ---- what Grant asks for

TraceLeaseOf(c) == E.lease

\* In the time of tolerance the entry says whether the lock was kept.
TraceKept(m) ==
  /\ m.kind = "acquire" /\ Without(field, Fields(m.c, m.owners)) = None
  /\ turn.c \notin {NoOne, m.c} /\ ~(turn.c = "*" /\ E.theirs)
  /\ \/ now < turn.until - Tolerance
     \/ E.since < turn.until + Tolerance /\ E.out # "granted"

TraceRegistration(m) == IF E.claim > 0 THEN [n |-> m.n, o |-> m.o, at |-> now] ELSE NoNonce

TraceAsked(c) == IF Command(c, num[c]).asks THEN {who[c]} ELSE {}

\* ---- steps

TraceInit ==
  /\ Init /\ id \in 1..Len(Traces) /\ at = 1
  /\ epoch = [c \in Clients |-> 0] /\ turn = [c |-> NoOne, until |-> 0] /\ trusted = {} /\ queued = [c \in Clients |-> {}] /\ forced = {}

\* In doubt, a client may have lost commands about any owner. For the client a lease may end by Delay earlier than for the model.
Notes ==
  /\ trusted' = trusted \cup {<<c, who'[c]>> : c \in {x \in Clients : st'[x] = "holds"}}
  /\ queued' = [c \in Clients |-> IF doubt'[c] THEN Owners ELSE queued[c] \cup owed'[c] \cup (IF st[c] = "holds" /\ valid[c] <= now + Delay THEN {who[c]} ELSE {})]
  /\ forced' = {c \in forced : st'[c] = "holds"}

\* As many Ticks as there are until the next entry.
Advance ==
  LET t == E.at
      ended == {c \in Clients : st[c] = "holds" /\ valid[c] <= t + Tolerance} IN
  /\ More /\ now < t /\ now' = t
  /\ \E gone \in IF field = None THEN {FALSE} ELSE BOOLEAN :
       /\ expiry + Tolerance <= E.since => gone \/ field = None
       /\ gone => expiry - Tolerance <= t
       /\ IF gone THEN field' = None /\ expiry' = 0 ELSE UNCHANGED <<field, expiry>>
  /\ reg' = [c \in Clients |-> IF reg[c] # NoNonce /\ reg[c].at + Claim + Tolerance <= E.since THEN NoNonce ELSE reg[c]]
  /\ st' = [c \in Clients |-> IF c \in ended THEN "idle" ELSE st[c]]
  /\ who' = [c \in Clients |-> IF c \in ended THEN NoOne ELSE who[c]]
  /\ valid' = [c \in Clients |-> IF c \in ended THEN 0 ELSE valid[c]]
  /\ owed' = [c \in Clients |-> IF c \in ended THEN owed[c] \cup {who[c]} ELSE owed[c]]
  /\ expects' = [c \in Clients |-> IF expects[c] # NoNonce /\ expects[c].sent + Claim <= t THEN NoNonce ELSE expects[c]]
  /\ UNCHANGED <<net, num, sent, doubt, may, doubts, renewals, late, id, at, epoch, turn>>
  /\ Notes
  /\ msgs' = Current(msgs)

\* A waiter hears its grant at once, or never.
HearsGrant ==
  /\ at > 1
  /\ LET e == Traces[id].entries[at - 1] IN
       /\ e.to # NoOne /\ now = e.at
       /\ \E m \in msgs : m.c = e.to /\ Hear(m)
  /\ UNCHANGED <<id, at, epoch, turn>> /\ Notes

\* The client's next command, in the order of its numbers, for the entry that is next.
Sends(c, m) ==
  \/ m.kind = "acquire" /\ may[c] \ {m.o} = m.owners /\ Ask(c, m.o)
  \/ m.kind = "release" /\ st[c] = "holds" /\ who[c] = m.o /\ Release(c)
  \/ m.kind = "release" /\ CleanUp(c, m.o)
  \/ m.kind = "leave" /\ may[c] = m.owners /\ Leave(c)

\* A count or a transfer is sent by a client that holds the lock, or that does not know whether it does; a
\* clean-up also beside a hold of another owner.
SendsOwn(c, m) ==
  /\ \/ m.kind \in {"count", "transfer"} /\ ((st[c] = "holds" /\ who[c] = m.o) \/ m.o \in queued[c])
     \/ m.kind = "release" /\ st[c] = "holds" /\ who[c] # m.o /\ m.o \in queued[c]
  /\ num' = [num EXCEPT ![c] = @ + 1]
  /\ expects' = [expects EXCEPT ![c] = NoNonce]
  /\ IF m.late \* it runs when its client has given it up
     THEN doubt' = [doubt EXCEPT ![c] = TRUE] /\ owed' = [owed EXCEPT ![c] = @ \cup ({m.o, m.p} \ {NoOne})]
     ELSE UNCHANGED <<doubt, owed>>
  /\ UNCHANGED <<now, redis, net, late, st, who, sent, valid, may, doubts, renewals>>
  /\ msgs' = Current(msgs)

\* The owners that the client's next attempt or leave names, from its n-th command on.
RECURSIVE Named(_, _)
Named(c, n) ==
  IF n > Len(Traces[id].commands[c]) THEN {}
  ELSE LET m == Command(c, n) IN IF m.kind \in {"acquire", "leave"} THEN m.owners \cup ({m.o} \ {NoOne}) ELSE Named(c, n + 1)

\* The command was about any owner, and may have been an attempt. The next command sets the epoch.
Lose(c, m) ==
  /\ m.e /\ st[c] \in {"idle", "holds"}
  /\ doubt' = [doubt EXCEPT ![c] = TRUE]
  /\ \E asked \in SUBSET (Named(c, Following(c)) \ may[c]) : may' = [may EXCEPT ![c] = @ \cup asked]
  /\ <<doubt', may'>> # <<doubt, may>>
  /\ expects' = [expects EXCEPT ![c] = NoNonce]
  /\ UNCHANGED <<now, redis, net, late, num, renewals, st, who, sent, valid, owed, doubts>>
  /\ msgs' = Current(msgs)

Lapse(c, m) ==
  /\ st[c] = "holds" /\ valid[c] <= now + Delay
  /\ m.kind \in {"acquire", "leave"} \/ m.o # who[c]
  /\ Idle(c) /\ valid' = [valid EXCEPT ![c] = 0]
  /\ owed' = [owed EXCEPT ![c] = @ \cup {who[c]}]
  /\ UNCHANGED <<now, redis, net, late, num, renewals, sent, doubt, doubts, expects, may>>
  /\ msgs' = Current(msgs)

\* The owner has had the lock since its clean-up was queued, and has released it.
Owes(c, m) ==
  /\ m.kind = "release" /\ st[c] = "idle" /\ m.o \in queued[c] \ owed[c]
  /\ owed' = [owed EXCEPT ![c] = @ \cup {m.o}]
  /\ UNCHANGED <<now, redis, net, late, num, renewals, st, who, sent, valid, doubt, doubts, expects, may, msgs>>

Client ==
  /\ More /\ now = E.at /\ E.n > 0 /\ num[E.c] < E.n
  /\ LET c == E.c m == Command(c, Following(c)) IN
       IF st[c] \in {"asks", "frees"} THEN GiveUp(c)
       ELSE \/ doubt[c] = m.e /\ (Sends(c, m) \/ SendsOwn(c, m))
            \/ Lose(c, m)
            \/ Lapse(c, m)
            \/ Owes(c, m)
  /\ UNCHANGED <<id, at, epoch, turn>> /\ Notes

\* ---- entries

Ready == More /\ now = E.at /\ IF E.n = 0 THEN TRUE ELSE num[E.c] >= E.n
Stale == E.n < epoch[E.c]
Sets == epoch' = IF E.e THEN [epoch EXCEPT ![E.c] = Max(@, E.n)] ELSE epoch
Turns == turn' = CASE E.turn = "same" -> turn
                   [] E.turn = NoOne -> [c |-> NoOne, until |-> 0]
                   [] OTHER -> [c |-> E.turn, until |-> now + E.keeps]
Consumed == at' = at + 1 /\ UNCHANGED id /\ Turns /\ Notes

M == [kind |-> E.kind, c |-> E.c, o |-> E.o, owners |-> IF E.kind = "release" THEN {} ELSE E.owners, n |-> E.n, e |-> E.e]

\* What the client's next command says about the answer. It decides nothing: a wrong guess cannot go on.
Heard ==
  IF Len(Traces[id].commands[E.c]) > E.n /\ ~Command(E.c, E.n + 1).e THEN {TRUE} ELSE BOOLEAN

\* To whom the lock was passed on, r being who is registered.
PassedOn(r) ==
  /\ reg' = [c \in Clients |-> IF c \in E.popped THEN NoNonce ELSE r[c]]
  /\ Registered(r) # {} => E.popped # {}
  /\ IF E.to = NoOne THEN field' = None
     ELSE /\ field' = <<E.to, E.for>>
          /\ r[E.to] # NoNonce /\ r[E.to].o = E.for /\ r[E.to].n = E.nonce

Effect ==
  CASE E.kind = "acquire" ->
         /\ E.claim \in {0, Claim}
         /\ E.stood = (field # None)
         /\ E.out = "granted" <=> Free(M)
         /\ E.out = "kept" => TraceKept(M)
         /\ E.out \in {"busy", "void"} => field # None
    [] E.kind = "release" ->
         /\ E.out = IF field = <<M.c, M.o>> THEN "freed" ELSE "absent"
         /\ E.out = "freed" => PassedOn(reg)
    [] E.kind = "leave" ->
         LET left == [reg EXCEPT ![M.c] = NoNonce] IN
         /\ E.out = "done"
         /\ E.passed => PassedOn(left)
         /\ ~E.passed => reg' = left /\ (field' # None \/ turn.c \notin {NoOne, M.c})

Registers == E.kind = "acquire" => E.out = "granted" \/ Command(E.c, E.n).asks

RunCommand ==
  /\ Ready /\ E.kind \in {"acquire", "release", "leave"} /\ ~E.again /\ ~Stale
  /\ M \in net
  /\ IF Awaited(M) \/ Matters(M)
     THEN \E heard \in IF Awaited(M) THEN Heard ELSE {FALSE} : Run(M, heard, Registers) /\ Effect
     ELSE UNCHANGED <<now, redis, late, msgs, client, renewals>> /\ net' = net \ {M} /\ Effect
  /\ Sets /\ Consumed

RunAgain ==
  /\ Ready /\ E.kind \in {"acquire", "release", "leave"} /\ E.again /\ ~Stale
  /\ IF Matters(M) THEN Run(M, FALSE, Registers) ELSE UNCHANGED <<now, redis, net, late, msgs, client, renewals>>
  /\ Effect
  /\ Sets /\ Consumed

RunStale ==
  /\ Ready /\ E.n > 0 /\ Stale /\ E.out = "void"
  /\ M \notin net
  /\ UNCHANGED <<now, redis, net, late, msgs, client, renewals, epoch>> /\ Consumed

\* The client waits for the answer to a count or a transfer that it has just sent.
AwaitedOwn == num[E.c] = E.n /\ ~E.again /\ ~Command(E.c, E.n).late
Voided == {o \in net : ~(E.e /\ o.c = E.c /\ o.n < E.n)}

\* A clean-up beside a hold: there is nothing to free.
RunBeside ==
  /\ Ready /\ E.kind = "release" /\ ~E.again /\ ~Stale
  /\ M \notin net /\ E.out = "absent" /\ field # <<E.c, E.o>>
  /\ net' = Voided
  /\ \E heard \in IF AwaitedOwn THEN Heard ELSE {FALSE} :
       doubt' = IF AwaitedOwn THEN [doubt EXCEPT ![E.c] = ~heard] ELSE doubt
  /\ UNCHANGED <<now, redis, late, num, st, who, sent, valid, local, doubts, renewals>>
  /\ msgs' = Current(msgs)
  /\ Sets /\ Consumed

RunCount ==
  LET c == E.c found == field = <<c, E.o>> IN
  /\ Ready /\ E.kind = "count" /\ ~Stale
  /\ E.out = IF found THEN "set" ELSE "void"
  /\ expiry' = IF found /\ E.lease > 0 THEN Max(expiry, now + E.lease) ELSE expiry
  /\ net' = Voided
  /\ \E heard \in IF AwaitedOwn THEN Heard ELSE {FALSE} :
       /\ doubt' = IF AwaitedOwn THEN [doubt EXCEPT ![c] = ~heard] ELSE doubt
       /\ LET holds == st[c] = "holds" /\ who[c] = E.o IN
          CASE heard /\ found /\ holds ->
                 \E raised \in IF valid[c] <= now + Delay THEN BOOLEAN ELSE {TRUE} : \* not if it was too late for the hold
                   /\ valid' = [valid EXCEPT ![c] = IF E.lease > 0 /\ raised THEN Max(@, now + E.lease) ELSE @]
                   /\ UNCHANGED <<st, who, owed>>
            [] heard /\ ~found /\ holds ->
                 Idle(c) /\ valid' = [valid EXCEPT ![c] = 0] /\ owed' = [owed EXCEPT ![c] = @ \cup {E.o}]
            [] OTHER -> UNCHANGED <<st, who, valid, owed>>
  /\ UNCHANGED <<now, field, reg, late, num, sent, expects, may, doubts, renewals>>
  /\ msgs' = Current(msgs)
  /\ Sets /\ Consumed

RunTransfer ==
  LET c == E.c from == field = <<c, E.o>> to == field = <<c, E.p>> IN
  /\ Ready /\ E.kind = "transfer" /\ ~Stale
  /\ E.out = CASE from -> "moved" [] to -> "there" [] OTHER -> "void"
  /\ IF from THEN field' = <<c, E.p>> /\ expiry' = now + E.lease ELSE UNCHANGED <<field, expiry>>
  /\ net' = Voided
  /\ \E heard \in IF AwaitedOwn THEN Heard ELSE {FALSE} :
       IF ~AwaitedOwn THEN UNCHANGED <<doubt, st, who, valid, owed>>
       ELSE /\ doubt' = [doubt EXCEPT ![c] = ~heard]
            /\ IF heard /\ (from \/ to)
               THEN /\ st' = [st EXCEPT ![c] = "holds"] /\ who' = [who EXCEPT ![c] = E.p]
                    /\ valid' = [valid EXCEPT ![c] = expiry']
                    /\ owed' = [owed EXCEPT ![c] = @ \ {E.o, E.p}]
               ELSE Idle(c) /\ valid' = [valid EXCEPT ![c] = 0] /\ owed' = [owed EXCEPT ![c] = @ \cup {E.o, E.p}]
  /\ UNCHANGED <<now, reg, late, num, sent, expects, may, doubts, renewals>>
  /\ msgs' = Current(msgs)
  /\ Sets /\ Consumed

\* A renewal names the owner of the field and, during a transfer, the next one too. It is late if its client does not trust the lock any more.
RunRenew ==
  LET c == E.c o == IF field = <<c, E.p>> THEN E.p ELSE E.o found == field = <<c, o>>
      renewal(live) == [c |-> c, o |-> o, sent |-> IF live THEN now ELSE 0, live |-> live, id |-> 0] IN
  /\ Ready /\ E.kind = "renew"
  /\ E.out = IF found THEN "held" ELSE "lost"
  /\ CASE Trusts(c) /\ who[c] = o -> \E heard \in BOOLEAN :
            IF found \/ heard THEN RunRenewal(renewal(TRUE), heard) ELSE UNCHANGED <<now, redis, net, late, msgs, client, renewals>>
       [] ~(Trusts(c) /\ who[c] = o) /\ found -> <<c, o>> \in trusted /\ RunRenewal(renewal(FALSE), FALSE)
       [] OTHER -> (<<c, E.o>> \in trusted \/ <<c, E.p>> \in trusted) /\ UNCHANGED <<now, redis, net, late, msgs, client, renewals>>
  /\ UNCHANGED epoch /\ Consumed

RunForce ==
  /\ Ready /\ E.kind = "force"
  /\ E.out = IF field # None THEN "freed" ELSE "void"
  /\ UNCHANGED <<now, net, late, client, renewals, epoch>>
  /\ IF field # None THEN PassOn(reg) /\ PassedOn(reg) ELSE UNCHANGED redis /\ UNCHANGED msgs
  /\ at' = at + 1 /\ UNCHANGED <<id, trusted, queued>> /\ Turns
  /\ forced' = forced \cup {c \in Clients : Trusts(c)}

TraceNext ==
  \/ Advance \/ HearsGrant \/ Client
  \/ RunCommand \/ RunAgain \/ RunStale \/ RunBeside \/ RunCount \/ RunTransfer \/ RunRenew \/ RunForce

\* ---- claims

TraceBacked == \A c \in Clients \ forced : Trusts(c) => field = <<c, who[c]>>
TraceExclusive == \A a, b \in Clients \ forced : a # b => ~(Trusts(a) /\ Trusts(b))

Violated(claim) == PrintT(<<"violated", claim, id, at>>) /\ FALSE

\* All but how often clients were in doubt, which Grant bounds and no claim reads.
View == <<now, redis, net, msgs, st, who, num, sent, valid, doubt, local, id, at, epoch, turn, trusted, queued, forced>>

State == [now |-> now, field |-> field, expiry |-> expiry, turn |-> turn, epoch |-> epoch, clients |->
  [c \in DOMAIN Traces[id].commands |-> [st |-> st[c], who |-> who[c], num |-> num[c], valid |-> valid[c], doubt |-> doubt[c], may |-> may[c],
    owed |-> owed[c], expects |-> expects[c], reg |-> reg[c]]]]

\* How far the model has followed each trace. A state that violates a claim is followed no further.
Progress ==
  /\ at > TLCGet(id) => TLCSet(id, at) /\ PrintT(<<"reached", id, at>>)
  /\ Verbose => PrintT(State)
  /\ TraceBacked \/ Violated("Backed")
  /\ TraceExclusive \/ Violated("Exclusive")

ASSUME \A i \in 1..Len(Traces) : TLCSet(i, 0)
====
