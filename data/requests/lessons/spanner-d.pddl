(define (problem close-to-the-gate) (:domain spanner)
  (:objects bob - man spanner1 spanner2 - spanner nut1 nut2 - nut
            shed location1 location2 gate - location)
  (:init (at bob location2) (at spanner1 location2) (carrying bob spanner2) (useable spanner1) (useable
         spanner2) (at nut1 gate) (at nut2 gate) (loose nut1) (loose nut2) (link shed location1) (link
         location1 location2) (link location2 gate))
  (:goal (tightened nut1)))
