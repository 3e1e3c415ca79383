---- MODULE ReadWrite ----
\* The read-write lock: many read together, one writes alone.
\*
\* Modelled: clients that read and write one lock by the scripts read_acquire, write_acquire, read_renew, renew and
\* rw_release, with a marker for each reader and a hash that lives as long as the longest of them; leases of two
\* lengths, since a reader may have a fixed one; a writer that reads too and goes on reading after its release;
\* clients that die; the barrier, by which a writer that waits keeps further readers out. A command and its answer are
\* at most Delay apart, or the answer is lost.
\*
\* Left out: commands that run late and epochs (Acquire), registries, turns and messages, which only say who asks
\* when (Grant), several owners of one client, Redisson, slots that move, a Redis that forgets.
\*
\* Claims: OneWriter, nobody trusts the lock beside a client that trusts it as a writer; Kept, a client that trusts the lock has
\* its field; Barred, no reader comes new while a barrier stands; Freed, a release of which no reader is left alive frees
\* the lock.
\*
\* Mistakes (Bug), each of which violates a claim:
\*   release-frees-all   a reader's release frees the lock, whoever reads beside it
\*   release-own-lease   a reader's release leaves the hash the lease of that reader's
\*   renewal-cuts        a renewal sets the TTL of the hash to its own lease, as Redisson's does
\*   renewal-retakes     a renewal sets the marker and the field of a reader that has none
\*   dead-readers-stay   a reader's release counts fields, whether or not their markers live
\*   write-frees-read    the release of a writer frees the lock though the same client goes on reading
\*   read-in-any-write   a reader enters the hold of another client's writer
\*   write-joins-reads   a writer enters if nobody else's marker is younger than its own
\*   barrier-ignored     a reader enters though a writer waits
\*   valid-from-receipt  a lease counts from the answer
EXTENDS Naturals, FiniteSets, TLC
CONSTANTS Clients, Short, Long, Delay, BarrierFor, MaxTime, MaxHolds, MaxLosses, MaxDeaths, Bug
VARIABLES now, mode, writer, fields, markers, expiry, barrier,  \* in Redis; writer and markers also count in fields
          dead, cmd,                                            \* of a client: whether it is; its command under way
          valid,                                                \* until when it trusts the lock, by the side
          holds, losses, deaths, broken
vars == <<now, mode, writer, fields, markers, expiry, barrier, dead, cmd, valid, holds, losses, deaths, broken>>
redis == <<mode, writer, fields, markers, expiry, barrier>>
Symmetric == Permutations(Clients)

None == ""
Nobody == [verb |-> None, side |-> "read", lease |-> 0, sent |-> 0, ran |-> FALSE, yes |-> FALSE]
Sides == {"read", "write"}
Max(a, b) == IF a > b THEN a ELSE b
Min(a, b) == IF a < b THEN a ELSE b
Longest(ms, who) == CHOOSE n \in {ms[c] : c \in who} : \A c \in who : ms[c] <= n

Init ==
  /\ now = 1 /\ mode = None /\ writer = None /\ fields = {} /\ markers = [c \in Clients |-> 0] /\ expiry = 0 /\ barrier = 0
  /\ dead = [c \in Clients |-> FALSE] /\ cmd = [c \in Clients |-> Nobody]
  /\ valid = [c \in Clients |-> [s \in Sides |-> 0]]
  /\ holds = 0 /\ losses = 0 /\ deaths = 0 /\ broken = {}

Trusts(c, side) == ~dead[c] /\ now < valid[c][side]
Live == {c \in fields : markers[c] > now}

\* --- what a client sends -------------------------------------------------------------------------------

Send(c, verb, side, lease) ==
  /\ ~dead[c] /\ cmd[c] = Nobody
  /\ cmd' = [cmd EXCEPT ![c] = [verb |-> verb, side |-> side, lease |-> lease, sent |-> now, ran |-> FALSE, yes |-> FALSE]]
  /\ UNCHANGED <<now, redis, dead, losses, deaths, broken>>

\* A client that reads does not ask to write (ErrUpgrade); one that writes may ask to read.
Ask(c, side, lease) ==
  /\ holds < MaxHolds /\ holds' = holds + 1
  /\ ~Trusts(c, side) /\ (side = "write" => ~Trusts(c, "read"))
  /\ Send(c, "acquire", side, lease) /\ UNCHANGED valid
Renew(c, side) == Trusts(c, side) /\ Send(c, "renew", side, Short) /\ UNCHANGED <<valid, holds>>
Release(c, side) ==
  /\ Trusts(c, side) /\ Send(c, "release", side, 0)
  /\ valid' = [valid EXCEPT ![c][side] = 0] /\ UNCHANGED holds

\* --- what Redis runs -----------------------------------------------------------------------------------

Bars(c) == mode = "read" /\ c \notin fields /\ barrier > now

MayRead(c) ==
  \/ mode = None \/ c \in fields
  \/ mode = "read" /\ (~Bars(c) \/ Bug = "barrier-ignored")
  \/ mode = "write" /\ (writer = c \/ Bug = "read-in-any-write")
MayWrite(c) ==
  \/ mode = None \/ (mode = "write" /\ writer = c)
  \/ Bug = "write-joins-reads" /\ mode = "read" /\ c \in fields

RunRead(c, lease) ==
  IF MayRead(c)
  THEN /\ mode' = IF mode = None THEN "read" ELSE mode
       /\ fields' = fields \cup {c} /\ markers' = [markers EXCEPT ![c] = now + lease]
       /\ expiry' = Max(expiry, now + lease)
       /\ broken' = IF Bars(c) THEN broken \cup {"barred"} ELSE broken
       /\ UNCHANGED <<writer, barrier>>
  ELSE UNCHANGED <<redis, broken>>

RunWrite(c, lease) ==
  IF MayWrite(c)
  THEN /\ mode' = "write" /\ writer' = c /\ expiry' = Max(expiry, now + lease) /\ barrier' = 0
       /\ UNCHANGED <<fields, markers>>
  ELSE /\ barrier' = IF mode = "read" THEN now + BarrierFor ELSE barrier
       /\ UNCHANGED <<mode, writer, fields, markers, expiry>>

Raise(lease) == IF Bug = "renewal-cuts" THEN now + lease ELSE Max(expiry, now + lease)

RunRenewRead(c, lease) ==
  IF c \in fields
  THEN /\ markers' = [markers EXCEPT ![c] = Max(@, now + lease)] /\ expiry' = Raise(lease)
       /\ UNCHANGED <<mode, writer, fields, barrier>>
  ELSE IF Bug = "renewal-retakes"
  THEN /\ markers' = [markers EXCEPT ![c] = now + lease] /\ fields' = fields \cup {c}
       /\ mode' = IF mode = None THEN "read" ELSE mode
       /\ expiry' = Max(expiry, now + lease) /\ UNCHANGED <<writer, barrier>>
  ELSE UNCHANGED redis

RunRenewWrite(c, lease) ==
  IF writer = c THEN expiry' = Max(expiry, now + lease) /\ UNCHANGED <<mode, writer, fields, markers, barrier>>
  ELSE UNCHANGED redis

Free == mode' = None /\ writer' = None /\ fields' = {} /\ expiry' = 0

RunReleaseRead(c) ==
  IF c \notin fields THEN UNCHANGED <<redis, broken>>
  ELSE /\ markers' = [markers EXCEPT ![c] = 0] /\ UNCHANGED barrier
       /\ LET rest == fields \ {c}
              alive == IF Bug = "dead-readers-stay" THEN rest ELSE {d \in rest : markers[d] > now} IN
          IF mode = "write" THEN fields' = rest /\ UNCHANGED <<mode, writer, expiry>>
          ELSE IF alive = {} \/ Bug = "release-frees-all" THEN Free
          ELSE /\ fields' = rest /\ UNCHANGED <<mode, writer>>
               /\ expiry' = Min(expiry, IF Bug = "release-own-lease" THEN Max(now + 1, markers[c])
                                        ELSE Max(now + 1, Longest(markers, alive)))
       /\ broken' = IF mode' = "read" /\ {d \in fields' : markers'[d] > now} = {} THEN broken \cup {"freed"} ELSE broken

RunReleaseWrite(c) ==
  IF writer # c THEN UNCHANGED redis
  ELSE /\ UNCHANGED <<markers, barrier>>
       /\ IF Live = {} \/ Bug = "write-frees-read" THEN Free
          ELSE mode' = "read" /\ writer' = None /\ UNCHANGED <<fields, expiry>>

Run(c) ==
  /\ cmd[c] # Nobody /\ ~cmd[c].ran
  /\ LET q == cmd[c] IN
     /\ CASE q.verb = "acquire" /\ q.side = "read"  -> RunRead(c, q.lease)
          [] q.verb = "acquire" /\ q.side = "write" -> RunWrite(c, q.lease) /\ UNCHANGED broken
          [] q.verb = "renew" /\ q.side = "read"    -> RunRenewRead(c, q.lease) /\ UNCHANGED broken
          [] q.verb = "renew" /\ q.side = "write"   -> RunRenewWrite(c, q.lease) /\ UNCHANGED broken
          [] q.verb = "release" /\ q.side = "read"  -> RunReleaseRead(c)
          [] OTHER                                  -> RunReleaseWrite(c) /\ UNCHANGED broken
     /\ cmd' = [cmd EXCEPT ![c].ran = TRUE,
                           ![c].yes = IF q.side = "read" THEN c \in fields' ELSE writer' = c]
  /\ UNCHANGED <<now, dead, valid, holds, losses, deaths>>

\* --- what the client makes of the answer ---------------------------------------------------------------

Answer(c) ==
  /\ ~dead[c] /\ cmd[c].ran
  /\ LET q == cmd[c]
         until == (IF Bug = "valid-from-receipt" THEN now ELSE q.sent) + q.lease IN
     valid' = CASE q.verb = "acquire" /\ q.yes -> [valid EXCEPT ![c][q.side] = until]
                [] q.verb = "renew" /\ q.yes   -> [valid EXCEPT ![c][q.side] = IF @ = 0 THEN 0 ELSE Max(@, until)]
                [] q.verb = "renew"            -> [valid EXCEPT ![c][q.side] = 0]
                [] OTHER                       -> valid
  /\ cmd' = [cmd EXCEPT ![c] = Nobody]
  /\ UNCHANGED <<now, redis, dead, holds, losses, deaths, broken>>

LoseAnswer(c) ==
  /\ cmd[c] # Nobody /\ losses < MaxLosses /\ losses' = losses + 1
  /\ cmd' = [cmd EXCEPT ![c] = Nobody]
  /\ UNCHANGED <<now, redis, dead, valid, holds, deaths, broken>>

Die(c) ==
  /\ ~dead[c] /\ deaths < MaxDeaths /\ deaths' = deaths + 1
  /\ dead' = [dead EXCEPT ![c] = TRUE] /\ cmd' = [cmd EXCEPT ![c] = Nobody]
  /\ UNCHANGED <<now, redis, valid, holds, losses, broken>>

Prompt == \A c \in Clients : cmd[c] # Nobody => now < cmd[c].sent + Delay

Tick ==
  /\ now < MaxTime /\ now' = now + 1 /\ Prompt
  /\ IF mode # None /\ expiry <= now' THEN Free ELSE UNCHANGED <<mode, writer, fields, expiry>>
  /\ UNCHANGED <<markers, barrier, dead, cmd, valid, holds, losses, deaths, broken>>

Next ==
  \/ Tick
  \/ \E c \in Clients : \/ Run(c) \/ Answer(c) \/ LoseAnswer(c) \/ Die(c)
                        \/ Ask(c, "write", Short)
                        \/ \E lease \in {Short, Long} : Ask(c, "read", lease)
                        \/ \E side \in Sides : Renew(c, side) \/ Release(c, side)

OneWriter == \A c, d \in Clients : c # d /\ Trusts(c, "write") => ~Trusts(d, "write") /\ ~Trusts(d, "read")
Kept == \A c \in Clients : /\ Trusts(c, "read") => c \in fields
                           /\ Trusts(c, "write") => writer = c
Barred == "barred" \notin broken
Freed == "freed" \notin broken
====
