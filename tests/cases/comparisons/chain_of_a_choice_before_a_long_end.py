a == (b or c) != d
{f(x) for x in y if z}
