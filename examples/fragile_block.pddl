; A tower to be built anew. Block b4 is fragile: it may never stand on the table, nor on b5, and never
; go back onto b1. The shortest plan without these rules has 14 steps and puts b4 on the table; a safe
; plan has 16.
(define (problem fragile-block)
  (:domain blocksworld)
  (:objects b1 b2 b3 b4 b5)
  (:init
    (arm-empty)
    (on-table b5) (on b2 b5) (on b1 b2) (on b4 b1) (on b3 b4) (clear b3))
  (:goal (and (on b3 b5) (on b4 b3) (on b2 b4)))
  (:constraints (and
    (always (not (on-table b4)))
    (always (not (on b4 b5)))
    (at-most-once (on b4 b1)))))
