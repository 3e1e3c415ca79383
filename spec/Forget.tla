---- MODULE Forget ----
\* A lock that Redis forgets, or that is forced: two may trust it then, and the claim is that the loss is told.
\*
\* Modelled: clients that take, renew and release one lock, with fencing. A command and its answer are at most Delay
\* apart, or the answer is lost. The lock is freed by force (lua/force.lua) at any time. A replica follows the
\* master by its own pace, and a failover puts it in the master's place: it may know an older holder, none, or an older
\* counter. Time passes at a failover.
\*
\* Left out: commands that run late and epochs (Acquire), waiting, hand-off, WithReplicaAcks, a release that is answered
\* at its second try, a clock of Redis that goes back, and a second event that gives back the lock that the first
\* took: the hold between them is not told.
\*
\* Claims: Told, nobody trusts the lock for a lease or more after Redis had it for him last; ToldSoon, if Redis answers
\* and renewals are sent every Third, nobody trusts it for longer than Third and Delay after that; ToldRightly, a hold
\* that ends by an answer is told as lost if it was, and not if it was not; Fenced, each token is higher than all before it, whatever was forgotten.
\*
\* Mistakes (Bug), each of which violates a claim:
\*   trust-until-told    the holder trusts the lock until Redis says that it is lost
\*   valid-from-receipt  a lease counts from the answer
\*   refusal-ignored     "not the owner" is taken for a failed renewal
\*   renew-retakes       a renewal takes the lock if it is free, and so hides the loss
\*   release-tells-none  a release that finds no field is taken for done
\*   token-counts        the token is the counter and 1, whatever the time
EXTENDS Naturals, TLC
CONSTANTS Clients, Lease, Third, Delay, MaxTime, MaxHolds, MaxForgets, MaxLosses, Bug
VARIABLES now, master, replica,            \* what they know of the lock: owner, expiry, counter
          st, kind, sent, ran, answer,     \* a client's state; its command, when it was sent and run, its answer
          valid, renewed,                  \* until when it trusts the lock; when it has sent the last renewal
          backed, broken, honest,          \* when Redis had the lock for it last; whether it has been without; whether told so
          issued, fenced, forgets, losses, holds
vars == <<now, master, replica, st, kind, sent, ran, answer, valid, renewed, backed, broken, honest, issued, fenced, forgets, losses, holds>>
ghost == <<issued, fenced>>
bounds == <<forgets, losses, holds>>
Symmetric == Permutations(Clients)

None == ""
Empty == [owner |-> None, expiry |-> 0, counter |-> 0]
PerTick == 8 \* more tokens than are given in one unit of time
Max(a, b) == IF a > b THEN a ELSE b

Init ==
  /\ now = 1 /\ master = Empty /\ replica = Empty
  /\ st = [c \in Clients |-> "idle"] /\ kind = [c \in Clients |-> None]
  /\ sent = [c \in Clients |-> 0] /\ ran = [c \in Clients |-> FALSE] /\ answer = [c \in Clients |-> None]
  /\ valid = [c \in Clients |-> 0] /\ renewed = [c \in Clients |-> 0]
  /\ backed = [c \in Clients |-> 0] /\ broken = [c \in Clients |-> FALSE] /\ honest = TRUE
  /\ issued = 0 /\ fenced = TRUE /\ forgets = 0 /\ losses = 0 /\ holds = 0

Trusts(c) == st[c] = "holds" /\ (now < valid[c] \/ Bug = "trust-until-told")

\* The master has changed: who holds the lock, and does not stand there, is without it. His own release is none of that.
See(m, t) ==
  /\ broken' = [c \in Clients |-> broken[c] \/ (m.owner # c /\ (st[c] = "holds" \/ (kind[c] = "release" /\ ~ran'[c])))]
  /\ backed' = [c \in Clients |-> IF st[c] = "holds" /\ master.owner = c THEN t ELSE backed[c]]

Send(c, k) ==
  /\ kind[c] = None
  /\ kind' = [kind EXCEPT ![c] = k] /\ sent' = [sent EXCEPT ![c] = now]
  /\ UNCHANGED <<now, master, replica, ran, answer, valid, backed, broken, honest, ghost, forgets, losses>>

Ask(c) ==
  /\ st[c] = "idle" /\ holds < MaxHolds /\ holds' = holds + 1
  /\ Send(c, "acquire") /\ UNCHANGED <<st, renewed>>
Renew(c) ==
  /\ Trusts(c) /\ now >= renewed[c] + Third
  /\ Send(c, "renew") /\ renewed' = [renewed EXCEPT ![c] = now] /\ UNCHANGED <<st, holds>>
Release(c) ==
  /\ Trusts(c)
  /\ Send(c, "release") /\ st' = [st EXCEPT ![c] = "frees"] /\ UNCHANGED <<renewed, holds>>

Token == IF Bug = "token-counts" THEN master.counter + 1 ELSE Max(master.counter + 1, now * PerTick)

Grant(c) ==
  /\ master' = [owner |-> c, expiry |-> now + Lease, counter |-> Token]
  /\ issued' = Max(issued, Token) /\ fenced' = (fenced /\ Token > issued)

\* Redis runs a command.
Run(c) ==
  /\ kind[c] # None /\ ~ran[c]
  /\ ran' = [ran EXCEPT ![c] = TRUE]
  /\ LET mine == master.owner = c
         free == master.owner = None
         take == (kind[c] = "acquire" /\ (mine \/ free)) \/ (kind[c] = "renew" /\ free /\ Bug = "renew-retakes") IN
     /\ IF take THEN Grant(c)
        ELSE /\ master' = CASE kind[c] = "renew" /\ mine -> [master EXCEPT !.expiry = now + Lease]
                            [] kind[c] = "release" /\ mine -> [master EXCEPT !.owner = None, !.expiry = 0]
                            [] OTHER -> master
             /\ UNCHANGED ghost
     /\ answer' = [answer EXCEPT ![c] = IF take \/ (mine /\ kind[c] # "acquire") THEN "yes" ELSE "no"]
  /\ See(master', now)
  /\ UNCHANGED <<now, replica, st, kind, sent, valid, renewed, honest, bounds>>

Done(c) ==
  /\ kind' = [kind EXCEPT ![c] = None] /\ answer' = [answer EXCEPT ![c] = None]
  /\ ran' = [ran EXCEPT ![c] = FALSE] /\ sent' = [sent EXCEPT ![c] = 0]

\* The hold is over, and c has been told whether the lock was lost.
End(c, lost) ==
  /\ st' = [st EXCEPT ![c] = "idle"] /\ valid' = [valid EXCEPT ![c] = 0] /\ renewed' = [renewed EXCEPT ![c] = 0]
  /\ backed' = [backed EXCEPT ![c] = 0] /\ broken' = [broken EXCEPT ![c] = FALSE]
  /\ honest' = (honest /\ lost = broken[c])

Counts(c) == IF Bug = "valid-from-receipt" THEN now ELSE sent[c]

Answer(c) ==
  /\ ran[c] /\ Done(c)
  /\ LET yes == answer[c] = "yes" IN
     CASE kind[c] = "acquire" /\ yes /\ now < sent[c] + Lease ->
            /\ st' = [st EXCEPT ![c] = "holds"] /\ valid' = [valid EXCEPT ![c] = Counts(c) + Lease]
            /\ renewed' = [renewed EXCEPT ![c] = sent[c]]
            /\ backed' = [backed EXCEPT ![c] = sent[c]] /\ broken' = [broken EXCEPT ![c] = master.owner # c]
            /\ UNCHANGED honest
       [] kind[c] = "renew" /\ yes /\ st[c] = "holds" ->
            /\ valid' = [valid EXCEPT ![c] = Max(@, Counts(c) + Lease)] /\ UNCHANGED <<st, renewed, backed, broken, honest>>
       [] kind[c] = "renew" /\ ~yes /\ st[c] = "holds" /\ Bug # "refusal-ignored" -> End(c, TRUE)
       [] kind[c] = "release" -> End(c, ~yes /\ Bug # "release-tells-none")
       [] OTHER -> UNCHANGED <<st, valid, renewed, backed, broken, honest>>
  /\ UNCHANGED <<now, master, replica, ghost, bounds>>

\* No answer: a release is sent again in the background, and its caller hears that it is not confirmed.
LoseAnswer(c) ==
  /\ kind[c] # None /\ losses < MaxLosses /\ losses' = losses + 1
  /\ Done(c)
  /\ IF kind[c] = "release" THEN End(c, broken[c]) ELSE UNCHANGED <<st, valid, renewed, backed, broken, honest>>
  /\ UNCHANGED <<now, master, replica, ghost, forgets, holds>>

LeaseEnds(c) ==
  /\ st[c] = "holds" /\ now >= valid[c] /\ kind[c] # "release" /\ Bug # "trust-until-told"
  /\ End(c, broken[c])
  /\ kind' = [kind EXCEPT ![c] = None] /\ answer' = [answer EXCEPT ![c] = None]
  /\ ran' = [ran EXCEPT ![c] = FALSE] /\ sent' = [sent EXCEPT ![c] = 0]
  /\ UNCHANGED <<now, master, replica, ghost, bounds>>

Force ==
  /\ master.owner # None /\ forgets < MaxForgets /\ forgets' = forgets + 1
  /\ master' = [master EXCEPT !.owner = None, !.expiry = 0]
  /\ UNCHANGED <<now, replica, st, kind, sent, ran, answer, valid, renewed, honest, ghost, losses, holds>>
  /\ See(master', now)

Replicate == replica # master /\ replica' = master
             /\ UNCHANGED <<now, master, st, kind, sent, ran, answer, valid, renewed, backed, broken, honest, ghost, bounds>>

Expired(m, t) == IF m.owner # None /\ m.expiry <= t THEN [m EXCEPT !.owner = None, !.expiry = 0] ELSE m

\* Nobody is so slow as Delay, and a renewal is not late, but by LoseAnswer.
Prompt == \A c \in Clients : /\ kind[c] # None => now < sent[c] + Delay
                             /\ Trusts(c) /\ kind[c] = None => now < renewed[c] + Third

Pass ==
  /\ now < MaxTime /\ now' = now + 1 /\ Prompt
  /\ UNCHANGED <<st, kind, sent, ran, answer, valid, renewed, honest, ghost, losses, holds>>
Tick == Pass /\ master' = Expired(master, now') /\ replica' = Expired(replica, now') /\ See(master', now') /\ UNCHANGED forgets
Failover ==
  /\ forgets < MaxForgets /\ forgets' = forgets + 1 /\ replica # master
  /\ Pass /\ master' = Expired(replica, now') /\ replica' = Expired(replica, now') /\ See(master', now')

Next ==
  \/ Tick \/ Failover \/ Force \/ Replicate
  \/ \E c \in Clients : Ask(c) \/ Renew(c) \/ Release(c) \/ Run(c) \/ Answer(c) \/ LoseAnswer(c) \/ LeaseEnds(c)

Told == \A c \in Clients : Trusts(c) /\ master.owner # c => now < backed[c] + Lease
ToldSoon == losses = 0 => \A c \in Clients : Trusts(c) /\ master.owner # c => now <= backed[c] + Third + Delay
ToldRightly == honest
Fenced == fenced
====
