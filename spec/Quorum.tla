---- MODULE Quorum ----
\* A lock over several servers, of which a majority is needed: servers restart empty, and the quarantine.
\*
\* Modelled: clients that take members one by one in any order, ask each server for its uptime after the grant
\* (multilock/servercheck.go), renew members, give them back and take them again; servers that restart and keep
\* nothing. A server that restarts is not counted until it has been running for Longest. Its uptime is in
\* whole units, and one too high at times. A lease may be longer than Longest, as a fixed one may. Time is kept as what is
\* left of each lease, and as the age of each server up to the one that matters. So there is no bound on time, nor on restarts.
\*
\* Left out: the time between a command and its run, and unknown outcomes (Acquire), clocks of different speeds and those
\* that jump, a run_id that is remembered from an earlier hold, a server that forgets without a restart, waiting and its order.
\*
\* Claim: Exclusive, no two clients trust the lock at once. A client trusts it while a majority of its members counts;
\* a member counts until its lease ends, and no longer than its server's last word allows.
\*
\* Mistakes (Bug), each of which violates it:
\*   no-quarantine    a server counts however young it is
\*   uptime-as-told   an uptime is taken for exact
\*   check-first      the server's word may be from before the grant
\*   check-late       the server is asked Longest after the grant, or later: it may be old enough again
\*   run-ignored      the server is not asked whether it is the same as before
\*   proof-kept       a member that is taken again counts by the server's word from before
\*   proof-for-ever   a member counts until its lease ends, whatever the server's last word allows
\*   valid-by-latest  the leases of a majority are taken to last as long as the latest of them
\*   half             half of the members is enough
EXTENDS Naturals, FiniteSets, TLC
CONSTANTS Clients, Servers, Lease, Longest, Bug
VARIABLES owner, left, age,  \* servers: who has the lock, for how long still; how long it has been running
          valid, proof,      \* clients: how long a member's lease counts still, and its server's last word
          run                \* whether the server is the one that was asked first about this member
vars == <<owner, left, age, valid, proof, run>>
Symmetric == Permutations(Clients) \cup Permutations(Servers)

None == ""
Old == Longest + 1 \* a server may be older, and nobody sees a difference

Min(a, b) == IF a < b THEN a ELSE b
Less(a) == IF a = 0 THEN 0 ELSE a - 1

Init ==
  /\ owner = [s \in Servers |-> None] /\ left = [s \in Servers |-> 0] /\ age = [s \in Servers |-> Old]
  /\ valid = [c \in Clients |-> [s \in Servers |-> 0]]
  /\ proof = [c \in Clients |-> [s \in Servers |-> 0]]
  /\ run = [c \in Clients |-> [s \in Servers |-> "not asked"]]

Until(c, s) == IF Bug = "proof-for-ever" /\ proof[c][s] > 0 THEN valid[c][s] ELSE Min(valid[c][s], proof[c][s])
Counting(c) == {s \in Servers : Until(c, s) > 0}
Needed == IF Bug = "half" THEN Cardinality(Servers) \div 2 ELSE Cardinality(Servers) \div 2 + 1
Trusts(c) == Cardinality(Counting(c)) >= Needed

Clear(f, s) == [f EXCEPT ![s] = 0]
Freed(c, s) ==
  IF owner[s] = c THEN owner' = [owner EXCEPT ![s] = None] /\ left' = Clear(left, s) ELSE UNCHANGED <<owner, left>>
Forgotten(c, s) ==
  /\ valid' = [valid EXCEPT ![c][s] = 0] /\ run' = [run EXCEPT ![c][s] = "not asked"]
  /\ proof' = IF Bug \in {"check-first", "proof-kept"} THEN proof ELSE [proof EXCEPT ![c][s] = 0]

\* A member is taken, or taken again. The server's word has to come after this.
Take(c, s) ==
  /\ valid[c][s] = 0 /\ owner[s] \in {None, c}
  /\ owner' = [owner EXCEPT ![s] = c] /\ left' = [left EXCEPT ![s] = Lease]
  /\ valid' = [valid EXCEPT ![c][s] = Lease]
  /\ UNCHANGED <<age, proof, run>>

OldEnough(told) == Bug = "no-quarantine" \/ told >= Longest + (IF Bug = "uptime-as-told" THEN 0 ELSE 1)

\* What the server tells may be one unit too high; so one is taken off. A server that is too young is given back.
Check(c, s) ==
  /\ valid[c][s] > 0 \/ Bug = "check-first"
  /\ run[c][s] = "not asked" => Lease - valid[c][s] < Longest \/ Bug \in {"check-late", "check-first"}
  /\ \E told \in {age[s], age[s] + 1} :
       IF OldEnough(told) /\ (run[c][s] # "another" \/ Bug = "run-ignored")
       THEN /\ proof' = [proof EXCEPT ![c][s] = Longest] /\ run' = [run EXCEPT ![c][s] = IF Bug = "check-first" THEN @ ELSE "same"]
            /\ UNCHANGED <<owner, left, valid>>
       ELSE Forgotten(c, s) /\ Freed(c, s)
  /\ UNCHANGED age

\* The member's watchdog. A refusal ends the member.
Renew(c, s) ==
  /\ valid[c][s] > 0
  /\ IF owner[s] = c
     THEN left' = [left EXCEPT ![s] = Lease] /\ valid' = [valid EXCEPT ![c][s] = Lease] /\ UNCHANGED <<proof, run>>
     ELSE Forgotten(c, s) /\ UNCHANGED left
  /\ UNCHANGED <<owner, age>>

Drop(c, s) == valid[c][s] > 0 /\ Forgotten(c, s) /\ Freed(c, s) /\ UNCHANGED age

Restart(s) ==
  /\ owner' = [owner EXCEPT ![s] = None] /\ left' = Clear(left, s) /\ age' = Clear(age, s)
  /\ run' = [c \in Clients |-> IF run[c][s] = "same" THEN [run[c] EXCEPT ![s] = "another"] ELSE run[c]]
  /\ UNCHANGED <<valid, proof>>

\* By the mistake, the leases of a majority all count as long as the last of them.
Later(c, s) ==
  IF Bug = "valid-by-latest" /\ Trusts(c) /\ valid[c][s] = 1 /\ (\E t \in Servers : valid[c][t] > 1) THEN 1 ELSE Less(valid[c][s])

\* A member whose lease is over is none any more, and its server's word with it.
Tick ==
  /\ left' = [s \in Servers |-> Less(left[s])]
  /\ owner' = [s \in Servers |-> IF left[s] <= 1 THEN None ELSE owner[s]]
  /\ age' = [s \in Servers |-> Min(age[s] + 1, Old)]
  /\ valid' = [c \in Clients |-> [s \in Servers |-> Later(c, s)]]
  /\ run' = [c \in Clients |-> [s \in Servers |-> IF valid'[c][s] = 0 THEN "not asked" ELSE run[c][s]]]
  /\ proof' = [c \in Clients |-> [s \in Servers |->
       IF valid'[c][s] = 0 /\ Bug \notin {"check-first", "proof-kept"} THEN 0
       ELSE IF Bug = "proof-for-ever" THEN proof[c][s] ELSE Less(proof[c][s])]]

Next ==
  \/ Tick
  \/ \E s \in Servers : Restart(s) \/ \E c \in Clients : Take(c, s) \/ Check(c, s) \/ Renew(c, s) \/ Drop(c, s)

Exclusive == \A a, b \in Clients : a # b => ~(Trusts(a) /\ Trusts(b))
====
