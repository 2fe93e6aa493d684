(define (problem hands-full) (:domain gripper-strips)
  (:objects robot1 - robot room1 room2 room3 - room ball1 ball2 ball3 ball4 - object
            lgripper1 rgripper1 - gripper)
  (:init (at-robby robot1 room2) (carry robot1 ball1 lgripper1) (carry robot1 ball3 rgripper1) (at ball2
         room1) (at ball4 room3))
  (:goal (at ball1 room1)))
