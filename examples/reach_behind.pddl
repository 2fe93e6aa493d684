; A tower of four in front of a block: see config/figure6_scene.yaml for where the blocks stand.
; From four blocks on the arm cannot reach b5 without hitting the tower. So b5 has to be fetched
; from behind, onto b4, before b4 makes the tower four high.
(define (problem reach-behind)
  (:domain blocksworld)
  (:objects b5 b1 b4 b2 b3)
  (:init (arm-empty)
    (on-table b1) (on-table b2) (on-table b3) (on-table b4) (on-table b5)
    (clear b1) (clear b2) (clear b3) (clear b4) (clear b5))
  (:goal (and (on b2 b1) (on b3 b2) (on b4 b3) (on b5 b4)))
  (:constraints (sometime-before (on b4 b3) (on b5 b4))))
