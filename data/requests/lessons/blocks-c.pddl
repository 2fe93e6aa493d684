(define (problem tower-and-pair) (:domain blocksworld)
  (:objects b1 b2 b3 b4 b5)
  (:init (arm-empty) (on-table b5) (on b2 b5) (on b4 b2) (clear b4) (on-table b1) (on b3 b1) (clear
         b3))
  (:goal (clear b1)))
