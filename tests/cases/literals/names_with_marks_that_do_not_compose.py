class Scripts:
    עִברִית = 1
    தமிழா = 2
    देवनागरी = 3


x̂ = Scripts.עִברִית + Scripts.தமிழா
θ̂ = x̂ + Scripts.देवनागरी
