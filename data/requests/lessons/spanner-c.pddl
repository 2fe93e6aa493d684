(define (problem four-nuts) (:domain spanner)
  (:objects bob - man spanner1 spanner2 spanner3 spanner4 - spanner nut1 nut2 nut3 nut4 - nut
            shed location1 location2 location3 gate - location)
  (:init (at bob shed) (at spanner1 location2) (at spanner2 location1) (at spanner3 location3) (at
         spanner4 location2) (useable spanner1) (useable spanner2) (useable spanner3) (useable spanner4)
         (at nut1 gate) (at nut2 gate) (at nut3 gate) (at nut4 gate) (loose nut1) (loose nut2)
         (tightened nut3) (loose nut4) (link shed location1) (link location1 location2) (link location2
         location3) (link location3 gate))
  (:goal (tightened nut1)))
