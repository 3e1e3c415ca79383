---- MODULE HandOff ----
\* Several owners of one Client: hand-off, write-behind and renewal.
\*
\* Modelled: the hash in Redis as the set of its fields, with one TTL; the owners of one Client, who take the lock, release
\* it, hand it over confirmed (lua/transfer.lua) or write-behind, where the field follows later
\* (internal/lockstate/field.go, sync.go, handover.go); one renewal at a time beside the commands, which has no
\* number (lua/renew.lua); somebody else, who takes the lock whenever it is free. Numbered commands leave one at a time.
\* Each runs at once, later or never. One without an answer is sent again with a new number and an epoch, at once or
\* after others. Fields for which nobody is left are freed by a clean-up.
\*
\* Left out: hold counts, fencing, fixed leases, two renewals of one lease at once, the order of the wait queue, replicas, a Redis that forgets.
\*
\* Claims: Backed, the holder's lease has one of its two fields in Redis until the validity ends, and so nobody else
\* has the lock; NoFalseLoss, no loss is told while one of its fields is there; NothingLeft, a Client that is done has
\* no field in Redis; Followed, a field at rest that was synced is the holder's.
\*
\* Mistakes (Bug), each of which violates a claim:
\*   renew-old-only      a renewal names the field from which the lock is moved, and not the next one
\*   renew-new-only      it names the next one only
\*   old-target          an answer to a renewal counts although the field has been moved since it was sent
\*   target-compared     such an answer counts if the field is where it was by now, moved there and back
\*   hand-off-in-doubt   a confirmed hand-off is sent while an earlier move has an unknown outcome
\*   free-old-only       a release during such a move frees the field from which it goes, and not the next one
\*   move-from-last-try  the validity after a move counts from its last try
\*   behind-anew         a write-behind hand-off begins a new lease that Redis has not heard of
\*   no-epoch            no command sets the epoch
EXTENDS Naturals, FiniteSets, TLC
CONSTANTS Owners, Lease, MaxTime, MaxNum, MaxDoubts, MaxRenewals, Bug
VARIABLES now, fields, expiry, epoch,   \* Redis
          net, renewal,                 \* numbered commands on their way; the renewal
          cmd,                          \* the numbered command whose answer the Client waits for
          holder, valid,                \* who trusts the lock, until when
          at, next, moveSent,           \* the field of the lease
          want, unsure,                 \* whose attempt goes on, and whether it may have a field already
          owed,                         \* whose fields are to be freed
          num, doubt, doubts, renewals, falseLoss
vars == <<now, fields, expiry, epoch, net, renewal, cmd, holder, valid, at, next, moveSent, want, unsure, owed, num, doubt, doubts, renewals, falseLoss>>
redis == <<fields, expiry, epoch>>
lease == <<at, next, moveSent>>
Symmetric == Permutations(Owners)

None == ""
Other == "other"
Idle == [kind |-> None]
NoAnswer == None
\* A renewal of a lease that is not watched any more may still run; nobody hears its answer.
Orphan == renewal' = IF renewal.kind \in {"sent", "orphan"} THEN [renewal EXCEPT !.kind = "orphan"] ELSE Idle
\* The fields of a lease have changed: an answer for those before does not count (watchdog.Retarget).
Retarget == IF Bug \in {"old-target", "target-compared"} THEN UNCHANGED renewal ELSE Orphan
Max(a, b) == IF a > b THEN a ELSE b

Init ==
  /\ now = 0 /\ fields = {} /\ expiry = 0 /\ epoch = 0
  /\ net = {} /\ renewal = Idle /\ cmd = Idle
  /\ holder = None /\ valid = 0
  /\ at = None /\ next = None /\ moveSent = 0
  /\ want = None /\ unsure = FALSE /\ owed = {}
  /\ num = 0 /\ doubt = FALSE /\ doubts = 0 /\ renewals = 0 /\ falseLoss = FALSE

\* ---- what the Client sends

Send(kind, from, to, sent) ==
  /\ cmd = Idle /\ num < MaxNum
  /\ num' = num + 1
  /\ net' = net \cup {[kind |-> kind, from |-> from, to |-> to, n |-> num + 1, e |-> doubt /\ Bug # "no-epoch"]}
  /\ cmd' = [kind |-> kind, from |-> from, to |-> to, sent |-> sent, answer |-> NoAnswer]

\* An owner asks for the lock. After an attempt without an answer the same owner tries again (want), or has left.
Ask(o) ==
  /\ holder = None /\ at = None /\ want \in {None, o}
  /\ Send("acquire", o, o, now)
  /\ want' = o
  /\ UNCHANGED <<now, redis, renewal, holder, valid, lease, unsure, owed, doubt, doubts, renewals, falseLoss>>

\* The call leaves between two attempts.
Leave ==
  /\ want # None /\ cmd = Idle
  /\ want' = None /\ unsure' = FALSE /\ owed' = IF unsure THEN owed \cup {want} ELSE owed
  /\ UNCHANGED <<now, redis, net, renewal, cmd, holder, valid, lease, num, doubt, doubts, renewals, falseLoss>>

Live == holder # None /\ now < valid

\* A confirmed hand-off to the next waiter.
Transfer(o) ==
  /\ Live /\ o # at
  /\ next = None \/ Bug = "hand-off-in-doubt"
  /\ Send("transfer", at, o, now)
  /\ holder' = None /\ Orphan
  /\ UNCHANGED <<now, redis, valid, lease, want, unsure, owed, doubt, doubts, renewals, falseLoss>>

\* A hand-off that asks nobody, with a third of the lease left at least.
WriteBehind(o) ==
  /\ Live /\ o # holder /\ 3 * (valid - now) >= Lease
  /\ holder' = o
  /\ valid' = IF Bug = "behind-anew" THEN now + Lease ELSE valid
  /\ UNCHANGED <<now, redis, net, renewal, cmd, lease, want, unsure, owed, num, doubt, doubts, renewals, falseLoss>>

\* The field follows. A move with an unknown outcome is finished first.
Sync ==
  /\ Live
  /\ \/ next = None /\ at # holder /\ Send("move", at, holder, now) /\ next' = holder /\ moveSent' = now /\ Retarget
     \/ next # None /\ Send("move", at, next, IF Bug = "move-from-last-try" THEN now ELSE moveSent)
        /\ UNCHANGED <<next, moveSent, renewal>>
  /\ UNCHANGED <<now, redis, holder, valid, at, want, unsure, owed, doubt, doubts, renewals, falseLoss>>

\* The last hold is released, and the lock is freed.
Free ==
  /\ Live
  /\ Send("release", at, None, now)
  /\ holder' = None /\ Orphan
  /\ UNCHANGED <<now, redis, valid, lease, want, unsure, owed, doubt, doubts, renewals, falseLoss>>

CleanUp(o) ==
  /\ o \in owed \ {holder, at, next}
  /\ Send("clean-up", o, None, now)
  /\ UNCHANGED <<now, redis, renewal, holder, valid, lease, want, unsure, owed, doubt, doubts, renewals, falseLoss>>

Renew ==
  /\ Live /\ renewal = Idle /\ renewals < MaxRenewals
  /\ renewals' = renewals + 1
  /\ renewal' = [kind |-> "sent", at |-> at, next |-> next, sent |-> now]
  /\ UNCHANGED <<now, redis, net, cmd, holder, valid, lease, want, unsure, owed, num, doubt, doubts, falseLoss>>

\* ---- what Redis does

\* The script, as the fields and the TTL after it, and its answer.
Effect(m) ==
  CASE m.kind = "acquire" ->
         IF fields = {} \/ m.from \in fields THEN <<fields \cup {m.from}, now + Lease, "done">>
                                             ELSE <<fields, expiry, "busy">>
    [] m.kind \in {"transfer", "move"} ->
         IF m.from \in fields THEN <<(fields \ {m.from}) \cup {m.to}, now + Lease, "done">>
         ELSE <<fields, expiry, IF m.to \in fields THEN "done" ELSE "not held">>
    [] OTHER ->
         <<fields \ {m.from}, IF fields \ {m.from} = {} THEN 0 ELSE expiry, IF m.from \in fields THEN "done" ELSE "not held">>

\* Stale commands leave net at once: they change nothing, and nobody waits for their answers.
Run(m) ==
  LET after == Effect(m) IN
  /\ fields' = after[1] /\ expiry' = after[2]
  /\ epoch' = IF m.e THEN m.n ELSE epoch
  /\ net' = {o \in net \ {m} : o.n >= epoch'}
  /\ cmd' = IF m.n = num /\ cmd # Idle THEN [cmd EXCEPT !.answer = after[3]] ELSE cmd
  /\ UNCHANGED <<now, renewal, holder, valid, lease, want, unsure, owed, num, doubt, doubts, renewals, falseLoss>>

RenewedFields(r) ==
  CASE Bug = "renew-old-only" -> {r.at}
    [] Bug = "renew-new-only" -> {IF r.next = None THEN r.at ELSE r.next}
    [] OTHER -> {r.at, r.next}

RunRenewal ==
  /\ renewal.kind \in {"sent", "orphan"}
  /\ LET held == RenewedFields(renewal) \cap fields # {} IN
     /\ expiry' = IF held THEN Max(expiry, now + Lease) ELSE expiry
     /\ renewal' = IF renewal.kind = "orphan" THEN Idle
                   ELSE [renewal EXCEPT !.kind = IF held THEN "renewed" ELSE "not held"]
  /\ UNCHANGED <<now, fields, epoch, net, cmd, holder, valid, lease, want, unsure, owed, num, doubt, doubts, renewals, falseLoss>>

Elsewhere ==
  \/ fields = {} /\ fields' = {Other} /\ expiry' = now + Lease
  \/ fields = {Other} /\ fields' = {} /\ expiry' = 0

\* ---- what the Client hears

Drop == at' = None /\ next' = None /\ moveSent' = 0 /\ valid' = 0

\* Redis knows neither field: a loss, and a false one if it has one of them all the same.
Lose == falseLoss' = (falseLoss \/ {at, next} \cap fields # {})

\* The answer to a command that has set the epoch, if there was a doubt, ends it.
Answered == cmd.kind # None /\ cmd.answer # NoAnswer /\ doubt' = FALSE

AnswerAcquire ==
  /\ cmd.kind = "acquire" /\ Answered /\ cmd' = Idle
  /\ IF cmd.answer = "done"
     THEN IF now < cmd.sent + Lease
          THEN /\ holder' = cmd.from /\ at' = cmd.from /\ valid' = cmd.sent + Lease
               /\ owed' = owed \ {cmd.from} /\ UNCHANGED <<next, moveSent>>
          ELSE owed' = owed \cup {cmd.from} /\ UNCHANGED <<holder, valid, lease>> \* too late
     ELSE UNCHANGED <<holder, valid, lease, owed>>
  /\ IF cmd.answer = "done" THEN want' = None /\ unsure' = FALSE ELSE UNCHANGED <<want, unsure>>
  /\ UNCHANGED <<net, num, falseLoss>>

AnswerTransfer ==
  /\ cmd.kind = "transfer" /\ Answered /\ cmd' = Idle
  /\ CASE cmd.answer = "done" /\ now < cmd.sent + Lease ->
            /\ holder' = cmd.to /\ at' = cmd.to /\ next' = None /\ moveSent' = 0 /\ valid' = cmd.sent + Lease
            /\ owed' = owed \ {cmd.to} /\ UNCHANGED falseLoss
       [] cmd.answer = "done" /\ now >= cmd.sent + Lease ->
            /\ Drop /\ owed' = owed \cup {cmd.to} /\ UNCHANGED <<holder, falseLoss>>
       [] OTHER -> Drop /\ Lose /\ UNCHANGED <<holder, owed>>
  /\ UNCHANGED <<net, want, unsure, num>>

\* The holder may be another one than when the move was sent, or have lost the lease.
AnswerMove ==
  /\ cmd.kind = "move" /\ Answered /\ cmd' = Idle
  /\ CASE at = None -> UNCHANGED <<holder, valid, lease, falseLoss>>
       [] at # None /\ cmd.answer = "done" ->
            /\ at' = cmd.to /\ next' = None /\ moveSent' = 0
            /\ valid' = Max(valid, cmd.sent + Lease) /\ UNCHANGED <<holder, falseLoss>>
       [] OTHER -> Drop /\ Lose /\ holder' = None
  /\ IF cmd.answer = "done" THEN Retarget ELSE Orphan
  /\ UNCHANGED <<net, want, unsure, owed, num>>

\* Not there: the next owner's field may be, if a move is in doubt.
AnswerRelease ==
  /\ cmd.kind = "release" /\ Answered
  /\ IF cmd.answer = "not held" /\ next \notin {None, cmd.from} /\ Bug # "free-old-only"
     THEN /\ num < MaxNum /\ num' = num + 1
          /\ net' = net \cup {[kind |-> "release", from |-> next, to |-> None, n |-> num + 1, e |-> FALSE]}
          /\ cmd' = [cmd EXCEPT !.from = next, !.answer = NoAnswer]
          /\ UNCHANGED <<valid, lease>>
     ELSE cmd' = Idle /\ Drop /\ UNCHANGED <<net, num>>
  /\ UNCHANGED <<holder, want, unsure, owed, falseLoss>>

AnswerCleanUp ==
  /\ cmd.kind = "clean-up" /\ Answered /\ cmd' = Idle
  /\ owed' = owed \ {cmd.from}
  /\ UNCHANGED <<net, holder, valid, lease, want, unsure, num, falseLoss>>

Answer ==
  /\ \/ AnswerMove
     \/ (AnswerAcquire \/ AnswerTransfer \/ AnswerRelease \/ AnswerCleanUp) /\ UNCHANGED renewal
  /\ UNCHANGED <<now, redis, doubts, renewals>>

\* No answer in time: the outcome is unknown.
GiveUp ==
  /\ cmd # Idle /\ doubts < MaxDoubts
  /\ doubts' = doubts + 1 /\ doubt' = TRUE /\ cmd' = Idle
  /\ CASE cmd.kind = "acquire" -> unsure' = TRUE /\ UNCHANGED <<valid, lease, owed, want>>
       [] cmd.kind = "transfer" -> Drop /\ owed' = owed \cup {cmd.from} /\ want' = cmd.to /\ unsure' = TRUE
       [] cmd.kind = "release" -> /\ Drop /\ UNCHANGED <<want, unsure>>
                                  /\ owed' = owed \cup (IF Bug = "free-old-only" THEN {at} ELSE {at, next} \ {None})
       [] OTHER -> UNCHANGED <<valid, lease, owed, want, unsure>>
  /\ UNCHANGED <<now, redis, net, renewal, holder, num, renewals, falseLoss>>

\* An answer for the fields that the lease has.
AnswerRenewal ==
  /\ renewal.kind \in {"renewed", "not held"}
  /\ renewal' = Idle
  /\ LET counts == Bug # "target-compared" \/ (renewal.at = at /\ renewal.next = next) IN
     CASE ~Live -> UNCHANGED <<holder, valid, lease, falseLoss>>
       [] Live /\ renewal.kind = "renewed" -> valid' = Max(valid, renewal.sent + Lease) /\ UNCHANGED <<holder, lease, falseLoss>>
       [] Live /\ renewal.kind = "not held" /\ counts -> Drop /\ Lose /\ holder' = None
       [] OTHER -> UNCHANGED <<holder, valid, lease, falseLoss>>
  /\ UNCHANGED <<now, redis, net, cmd, want, unsure, owed, num, doubt, doubts, renewals>>

\* The end of the validity is told to the holder; a late move or attempt may have left a field.
LeaseEnds ==
  /\ holder # None /\ now >= valid
  /\ holder' = None /\ Drop /\ owed' = owed \cup ({at, next} \ {None}) /\ Orphan
  /\ UNCHANGED <<now, redis, net, cmd, want, unsure, num, doubt, doubts, renewals, falseLoss>>

Tick ==
  /\ now < MaxTime /\ now' = now + 1
  /\ IF expiry <= now' THEN fields' = {} /\ expiry' = 0 ELSE UNCHANGED <<fields, expiry>>
  /\ UNCHANGED <<epoch, net, renewal, cmd, holder, valid, lease, want, unsure, owed, num, doubt, doubts, renewals, falseLoss>>

Next ==
  \/ Tick \/ Leave \/ Sync \/ Free \/ Renew \/ RunRenewal \/ AnswerRenewal \/ Answer \/ GiveUp \/ LeaseEnds
  \/ \E o \in Owners : Ask(o) \/ Transfer(o) \/ WriteBehind(o) \/ CleanUp(o)
  \/ \E m \in net : Run(m)
  \/ Elsewhere /\ UNCHANGED <<now, epoch, net, renewal, cmd, holder, valid, lease, want, unsure, owed, num, doubt, doubts, renewals, falseLoss>>

Backed == Live => {at, next} \cap fields # {} /\ Other \notin fields
NoFalseLoss == ~falseLoss
NothingLeft == holder = None /\ at = None /\ cmd = Idle /\ want = None /\ owed = {} /\ ~doubt => fields \subseteq {Other}
Followed == Live /\ next = None /\ cmd = Idle => at \in fields
====
