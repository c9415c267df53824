"""Contracts of operators: functions that receive their random numbers as arrays, in the shapes engines use."""
