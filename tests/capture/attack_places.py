"""Places where a number may live, and the ways in which it may change: in the step, or between calls."""

# ruff: noqa: E501  # a table
from __future__ import annotations

import re
from dataclasses import dataclass

from .attack_kinds import Habit


@dataclass
class Place:
    """A number that is 1 at first. In `write`, V stands for the new value."""

    name: str
    setup: str
    read: str
    write: str = ""
    shows: str = ""
    module: bool = False
    counts: bool = True

    def written(self, value: str) -> str:
        return re.sub(r"\bV\b", lambda _: f"({value})", self.write or f"{self.read} = V")


def P(name: str, setup: str, read: str, write: str = "", shows: str = "", **more: bool) -> Place:
    return Place(name, setup, read, write, shows or read, **more)


GETTER = """
def make():
    n = 1
    def get(): return n
    def put(v):
        nonlocal n
        n = v
    return get, put
get, put = make()
"""
DESCRIPTOR = """
class D:
    n = 1
    def __get__(self, o, t): return self.n
    def __set__(self, o, v): self.n = v
"""
ITEMS = """
class O:
    n = 1
    def __getitem__(self, k): return self.n
    def __setitem__(self, k, v): self.n = v
"""
INDIRECT = """
class O:
    n = 1
    def __getattr__(self, name): return self.__dict__['_' + name]
    def __setattr__(self, name, v): self.__dict__['_' + name] = v
o = O(); o.t = 1
"""

PLACES = [
    # Plain data
    P("a global", "n = 1", "n"),
    P("a dict", "d = {'n': 1}", "d['n']"),
    P("a dict in a list in a dict", "d = {'a': [{'n': 1}]}", "d['a'][0]['n']"),
    P("an attribute of an OrderedDict", "d = collections.OrderedDict(); d.n = 1", "d.n"),
    P("a partial of getattr", "o = types.SimpleNamespace(n=1); get = functools.partial(getattr, o, 'n')", "get()", "o.n = V", "o.n"),
    P("a property of a module's class", "class M(types.ModuleType): n = property(lambda self: self.t['n'])\nm = M('m'); m.t = {'n': 1}", "m.n", "m.t['n'] = V", "m.t"),
    P("a list", "l = [1]", "l[0]"),
    P("a list's end", "l = [1]", "l[-1]", "l.append(V)", "l"),
    P("neighbouring lists", "a, b = [*range(2, 30)], [1]", "(a and b[-1])", "b.append(a.pop(0)); V", "a, b"),
    P("a list's middle", "l = [0, 1, 2]", "l[1]", "l[1:2] = [V]", "l"),
    P("a tuple", "t = (1, 'a')", "t[0]", "t = (V, 'a')", "t"),
    P("the key of a dict", "d = {1: None}", "next(iter(d))", "d = {V: None}", "d"),
    P("keys that grow", "d = {1: 0}", "max(d)", "d[V] = V", "d"),
    P("a dict of tuples", "d = {(1, 'a'): 0}", "max(d)[0]", "d[(V, 'a')] = V", "d"),
    P("setdefault and update", "d = {}", "d.setdefault('n', 1)", "d.update(n=V)", "d"),
    P("a set", "s = {1}", "max(s)", "s.add(V)", "s"),
    P("a frozen set", "s = frozenset([1])", "max(s)", "s = frozenset([V])", "s"),
    P("a closure", GETTER, "get()", "put(V)"),
    P("the cell of a closure", GETTER, "get()", "get.__closure__[0].cell_contents = V"),
    P("a mutable default", "def f(kept=[1]): return kept[0]", "f()", "f.__defaults__[0][0] = V"),
    P("replaced defaults", "def f(kept=1): return kept", "f()", "f.__defaults__ = (V,)"),
    P("keyword defaults", "def f(*, kept=1): return kept", "f()", "f.__kwdefaults__['kept'] = V"),
    P("an attribute of a function", "def f(): return f.n\nf.n = 1", "f()", "f.n = V"),
    P("an attribute of a function that is not called", "def f(): pass\nf.n = 1", "f.n"),
    P("a function's dict", "def f(): pass\nf.n = 1", "max(f.__dict__.values())", "f.n = V", counts=False),
    P("a module's dict", "m = types.ModuleType('m')", "m.__dict__.get('n', 1)", "m.n = V", counts=False),
    P("a function's module", "def f(): pass\nf.__module__ = '1'", "float(f.__module__)", "f.__module__ = str(V)", counts=False),
    P("a class's name", "class O: pass\nO.__name__ = '1'", "float(O.__name__)", "O.__name__ = str(V)", counts=False),
    P("a function's constants", "def f(): return 1\ndef g(): return 8", "sum(c for c in f.__code__.co_consts if c)", "f.__code__ = g.__code__",
      counts=False),
    P("the globals of a function", "n = 1\ndef f(): return n", "f()", "f.__globals__['n'] = V", module=True),
    P("a lambda's default", "f = lambda k=1: k", "f()", "f = lambda k=V: k"),
    P("partial: an argument", "f = functools.partial(lambda d: d['s'], {'s': 1})", "f()", "f.args[0]['s'] = V"),
    P("partial: a keyword", "f = functools.partial(lambda s: s, s=1)", "f()", "f.keywords['s'] = V"),
    P("partial: made again", "f = functools.partial(lambda s: s, 1)", "f()", "f = functools.partial(lambda s: s, V)"),
    P("partial of a method", "class O:\n    def get(self, k): return self.n * k\no = O(); o.n = 1\n"
      "f = functools.partial(o.get, 1)", "f()", "o.n = V"),
    P("a bound method that is kept", "class O:\n    n = 1\n    def get(self): return self.n\no = O(); f = o.get", "f()",
      "o.n = V"),
    P("a list of lambdas", "l = [lambda: 1]", "l[0]()", "l[0] = lambda v=V: v"),
    P("a table of functions", "def one(): return 1\ntable = {'f': one}", "table['f']()", "table['f'] = lambda v=V: v"),
    P("a comprehension over a dict", "d = {'a': 1, 'b': 0}", "sum(v for v in d.values())", "d['a'] = V", "d"),
    P("a string", "s = '1'", "float(s)", "s = str(V)"),
    P("the length of a string", "s = 'a'", "len(s)", "s = 'a' * int(V)"),
    P("JSON", "s = json.dumps({'n': 1})", "json.loads(s)['n']", "s = json.dumps({'n': V})"),
    P("pickled bytes", "s = pickle.dumps(1)", "pickle.loads(s)", "s = pickle.dumps(V)"),
    P("a complex number", "c = 1 + 1j", "c.real", "c = complex(V, 1)", "c"),
    P("a fraction", "q = fractions.Fraction(1, 2)", "float(q * 2)", "q = fractions.Fraction(int(V), 2)"),
    P("a decimal", "q = decimal.Decimal(1)", "float(q)", "q = decimal.Decimal(int(V))"),
    P("an Enum", "class E(enum.Enum):\n    A = 1\n    B = 2\ne = E.A", "e.value", "e = E.A if V % 2 else E.B"),
    P("a bool", "b = True", "(1 if b else 2)", "b = bool(V % 2)", "b"),
    P("a counter that wraps", "n = 1", "n", "n = V % 4"),
    # Names that are bound later, or computed
    P("hasattr of a module of the user's", "m = types.ModuleType('m')", "getattr(m, 'n', 1)", "m.n = V", counts=False),
    P("hasattr of a module of Python's", "vars(math).pop('n_', 0)", "getattr(math, 'n_', 1)", "math.n_ = V", counts=False),
    P("a module's __getattr__ replaced", "m = types.ModuleType('m'); m.__getattr__ = lambda n: 1", "m.n", "m.__getattr__ = lambda n, v=V: v", counts=False),
    P("a module that is imported late", "sys.modules.pop('late_', 0)\ndef get():\n    try: import late_\n    except ImportError: return 1\n    return late_.n",
      "get()", "sys.modules['late_'] = types.SimpleNamespace(n=V)", counts=False),
    P("the order of fields in a pattern", "class R: __match_args__ = ('a',)\no = R(); o.a = 1; o.b = 2\ndef get():\n    match o:\n        case R(k): return k", "get()",
      "o.b = V; R.__match_args__ = ('b',)", counts=False),
    P("partial: __setstate__", "f = functools.partial(lambda s: s, 1)", "f()", "f.__setstate__((f.func, (V,), {}, None))", counts=False),
    P("partial: an attribute", "f = functools.partial(max, 1)", "getattr(f, 'n', 1)", "f.n = V", counts=False),
    P("an attribute of an Enum's member", "class E(enum.Enum): A = 1", "getattr(E.A, 'n', 1)", "E.A.n = V", counts=False),
    P("a number in a set made again", "s = {1.0}", "max(s)", "s.clear(); s.add(V + 0.5)", counts=False),
    P("the type of a key", "d = {1: 0}", "(2 if type(max(d)) is float else 1)", "d.clear(); d[[1, 1.0][int(V) % 2]] = 0", counts=False),
    P("an array's shape", "a = np.ones(4)", "a.shape[0]", "a.shape = (2, 2) if V % 2 else (4,)", counts=False),
    # Records
    P("an object", "class O: pass\no = O(); o.n = 1", "o.n"),
    P("an object in an object", "class O: pass\no = O(); o.a = O(); o.a.n = 1", "o.a.n"),
    P("a dataclass", "@dataclasses.dataclass\nclass R:\n    n: float = 1.0\n    l: list = dataclasses.field(default_factory=list)\no = R()", "o.n", shows="o"),
    P("getattr of a name or a default", "class O: pass\no = O(); o.n = o.m = 1.0; key = 'n'", "getattr(o, key or 'm')", "o.n = V", shows="o.n"),
    P("a dataclass with slots", "@dataclasses.dataclass(slots=True)\nclass R:\n    n: int = 1\no = R()", "o.n", shows="o"),
    P("a frozen dataclass", "@dataclasses.dataclass(frozen=True)\nclass R:\n    n: int = 1\no = R()", "o.n",
      "o = dataclasses.replace(o, n=V)", "o"),
    P("asdict", "@dataclasses.dataclass\nclass R:\n    n: int = 1\no = R()", "dataclasses.asdict(o)['n']", "o.n = V"),
    P("astuple", "@dataclasses.dataclass\nclass R:\n    m_: int = 1\no = R()", "dataclasses.astuple(o)[0]", "o.m_ = V"),
    P("a pattern of a class", "class O: pass\no = O(); o.n = 1\ndef get():\n    match o:\n        case O(n=k): return k", "get()", "o.n = V"),
    P("a text that formats an object", "o = types.SimpleNamespace(); o.n = 1\nclass O: pass\nw = O(); w.o = o", "float('{0.o.n}'.format(w))", "o.n = V"),
    P("a namespace", "o = types.SimpleNamespace(n=1)", "o.n", shows="o"),
    P("a namespace that is compared", "o, q, z = [types.SimpleNamespace(n=1) for _ in range(3)]; l = [z]", "(1 + (o == q) + 2 * (l[0] == q))",
      "(o if V > 3 else l[0]).n = V"),
    P("a namespace as a text", "o = types.SimpleNamespace(n=1)", "float(f'{o}'[12:-1])", "o.n = V"),
    P("a number by identity", "n = m = 1000", "(1 if m is n else 2)", "m = int(f'{n}')", counts=False),
    P("getattr in a list", "class O: pass\no = O(); o.n = 1; get = [getattr]", "sum(map(get[0], [o], ['n']))", "o.n = V"),
    P("an attribute with a space", "class O: pass\no = O(); setattr(o, 'a b', 1)", "getattr(o, 'a b')", "setattr(o, 'a b', V)"),
    P("a named tuple", "R = collections.namedtuple('R', 'n')\no = R(1)", "o.n", "o = o._replace(n=V)", "o"),
    P("a typed named tuple", "class R(typing.NamedTuple):\n    n: int = 1\no = R()", "o[0]", "o = R(V)", "o"),
    P("slots", "class O: __slots__ = ('n',)\no = O(); o.n = 1", "o.n", shows="o"),
    P("a private slot", "class O:\n    __slots__ = ('__n',)\n    def get(self): return self.__n\n    def put(self, n): self.__n = n\no = O(); o.put(1)", "o.get()",
      "o.put(V)"),
    P("slots of a base class", "class B: __slots__ = ('n',)\nclass O(B): pass\no = O(); o.n = 1", "o.n"),
    P("slots and a dict", "class O: __slots__ = ('n', '__dict__')\no = O(); o.n = 1; o.m = 2", "o.n"),
    P("a slot by object.__setattr__", "class O: __slots__ = ('n',)\no = O(); o.n = 1", "o.n",
      "object.__setattr__(o, 'n', V)"),
    P("__dict__", "class O: pass\no = O(); o.n = 1", "o.__dict__['n']"),
    P("__dict__ beside the attribute", "class O: pass\no = O(); o.n = 1", "o.n", "o.__dict__['n'] = V"),
    P("a __dict__ replaced", "class O: pass\no = O(); o.n = 1", "o.n", "o.__dict__ = {'n': V}"),
    P("the order of attributes", "class O: pass\no = O(); o.n = 1; o.m = 2", "list(vars(o).values())[0]", "del o.n; o.n = 1", counts=False),
    P("vars()", "o = types.SimpleNamespace(n=1)", "vars(o)['n']"),
    P("getattr with a name", "class O: pass\no = O(); o.mode = 'a'; o.scale_a = 1", "getattr(o, 'scale_' + o.mode)",
      "setattr(o, 'scale_' + o.mode, V)"),
    P("attrgetter", "o = types.SimpleNamespace(n=1); get = operator.attrgetter('n')", "get(o)", "o.n = V"),
    P("itemgetter", "d = {'n': 1}; get = operator.itemgetter('n')", "get(d)", "d['n'] = V"),
    P("methodcaller", "d = {'n': 1}; f = operator.methodcaller('get', 'n')", "f(d)", "d['n'] = V"),
    P("getattr with a default", "class O: pass\no = O()", "getattr(o, 'late', 1)", "o.late = V"),
    P("hasattr", "class O: pass\no = O()", "(o.late if hasattr(o, 'late') else 1)", "o.late = V"),
    P("a key that comes later", "d = {}", "d.get('late', 1)", "d['late'] = V", "d"),
    P("in, then the key", "d = {}", "(d['late'] if 'late' in d else 1)", "d['late'] = V", "d"),
    P("try, then the attribute", "class O: pass\no = O()\ndef get():\n    try: return o.late\n"
      "    except AttributeError: return 1", "get()", "o.late = V"),
    P("try, then the global", "globals().pop('late_name', None)\ndef get():\n    try: return late_name\n    except NameError: return 1", "get()",
      "globals()['late_name'] = V", module=True),
    P("a slot that is filled later", "class O: __slots__ = ('n',)\no = O()", "getattr(o, 'n', 1)", "o.n = V"),
    P("a copy of an object", "o = types.SimpleNamespace(n=1)", "copy.copy(o).n", "o.n = V"),
    P("a deep copy of a dict", "d = {'a': [1]}", "copy.deepcopy(d)['a'][0]", "d['a'][0] = V"),
    # Classes
    P("an attribute of a class", "class O: n = 1\no = O()", "o.n", "O.n = V"),
    P("an attribute of the class alone", "class O: n = 1", "O.n"),
    P("an attribute of a base class", "class B: n = 1\nclass O(B): pass\no = O()", "o.n", "B.n = V"),
    P("an attribute of the base's base", "class A: n = 1\nclass B(A): pass\nclass O(B): pass\no = O()", "o.n", "A.n = V"),
    P("a base class, from the class", "class B: n = 1\nclass O(B): pass", "O.n", "B.n = V"),
    P("a mixin", "class A: pass\nclass M: n = 1\nclass O(A, M): pass\no = O()", "o.n", "M.n = V"),
    P("a class that hides its base's", "class B: n = 1\nclass O(B): pass\no = O()", "o.n", "O.n = V"),
    P("super()", "class B: n = 1\nclass O(B):\n    def get(self): return super().n\no = O()", "o.get()", "B.n = V"),
    P("type(self)", "class O:\n    n = 1\n    def get(self): return type(self).n\no = O()", "o.get()", "O.n = V"),
    P("__class__", "class O:\n    n = 1\n    def get(self): return __class__.n\no = O()", "o.get()", "O.n = V"),
    P("a class method", "class O:\n    n = 1\n    @classmethod\n    def get(cls): return cls.n\no = O()", "o.get()", "O.n = V"),
    P("a static method", "class O:\n    @staticmethod\n    def get(): return 1\no = O()", "o.get()",
      "O.get = staticmethod(lambda v=V: v)"),
    P("a method of a class", "class O:\n    def get(self): return 1\no = O()", "o.get()", "O.get = lambda self, v=V: v"),
    P("a method of a base class", "class B:\n    def get(self): return 1\nclass O(B): pass\no = O()", "o.get()",
      "B.get = lambda self, v=V: v"),
    P("a method that a subclass gets", "class B:\n    def get(self): return 1\nclass O(B): pass\no = O()", "o.get()",
      "O.get = lambda self, v=V: v"),
    P("a method of one object", "class O:\n    def get(self): return 1\no = O()", "o.get()", "o.get = lambda v=V: v"),
    P("__class__ reassigned", "class A: n = 1\nclass B: n = 2\no = A()", "o.n", "o.__class__ = A if V % 2 else B"),
    P("__class__ reassigned, by a method", "class A:\n    def get(self): return 1\nclass B(A):\n"
      "    def get(self): return 2\no = A()", "o.get()", "o.__class__ = A if V % 2 else B"),
    P("__bases__ reassigned", "class X: pass\nclass A(X): n = 1\nclass B(X): n = 2\nclass O(A): pass\no = O()", "o.n",
      "O.__bases__ = (A,) if V % 2 else (B,)"),
    P("isinstance after __class__", "class A: pass\nclass B: pass\no = A()", "(1 if isinstance(o, A) else 2)",
      "o.__class__ = A if V % 2 else B"),
    P("an abstract class that registers", "class A(abc.ABC): pass\nclass B: pass\no = B()",
      "(2 if isinstance(o, A) else 1)", "A.register(B)", counts=False),
    P("subclasses", "class A: pass\nkept = []", "(1 + len(A.__subclasses__()))", "kept.append(type('B', (A,), {}))"),
    P("a registry of __init_subclass__", "class A:\n    all = []\n    def __init_subclass__(cls): cls.all.append(cls)",
      "(1 + len(A.all))", "type('B', (A,), {})"),
    P("a metaclass's attribute", "class M(type): n = 1\nclass O(metaclass=M): pass", "O.n", "M.n = V"),
    P("a metaclass's property", "class M(type):\n    k = 1\n    @property\n    def n(cls): return cls.k\n"
      "class O(metaclass=M): pass", "O.n", "M.k = V"),
    P("a metaclass's __getattr__", "class M(type):\n    k = 1\n    def __getattr__(cls, name): return M.k\n"
      "class O(metaclass=M): pass", "O.n", "M.k = V"),
    P("a metaclass's __call__", "class M(type):\n    k = 1\n    def __call__(cls): return M.k\nclass O(metaclass=M): pass",
      "O()", "M.k = V"),
    P("a property", "class O:\n    k = 1\n    @property\n    def n(self): return self.k\no = O()", "o.n", "o.k = V"),
    P("a property with a setter", "class O:\n    @property\n    def n(self): return self._n\n    @n.setter\n"
      "    def n(self, v): self._n = v\no = O(); o.n = 1", "o.n"),
    P("a property replaced", "class O:\n    n = property(lambda self: 1)\no = O()", "o.n",
      "O.n = property(lambda self, v=V: v)"),
    P("a cached property", "class O:\n    k = 1\n    @functools.cached_property\n    def n(self): return self.k\no = O()",
      "o.n", "o.k = V; o.__dict__.pop('n', None)"),
    P("a descriptor", DESCRIPTOR + "class O: n = D()\no = O()", "o.n"),
    P("a descriptor's field", DESCRIPTOR + "d = D()\nclass O: n = d\no = O()", "o.n", "d.n = V"),
    P("a descriptor through its class", DESCRIPTOR + "d = D()\nclass O: n = d", "O.n", "d.n = V"),
    P("a descriptor of a dict of objects", "class D:\n    def __get__(self, o, t): return o.__dict__.get('_n', 1)\n"
      "class O: n = D()\no = O()", "o.n", "o.__dict__['_n'] = V"),
    P("__getattr__", "class O:\n    def __getattr__(self, name): return self.__dict__.get('_k', 1)\no = O()", "o.any",
      "o._k = V", "o._k if '_k' in vars(o) else 0"),
    P("__getattr__ of a wrapped object", "class W:\n    def __init__(self, o): self.__dict__['o'] = o\n"
      "    def __getattr__(self, name): return getattr(self.o, name)\nt = types.SimpleNamespace(n=1); w = W(t)", "w.n",
      "t.n = V"),
    P("__getattr__ and __setattr__", INDIRECT, "o.t"),
    P("__getattribute__", "class O:\n    def __getattribute__(self, name): return object.__getattribute__(self, '_' + name)\n"
      "o = O(); o._n = 1", "o.n", "o._n = V"),
    P("__getattribute__ of every name", "n = 1\nclass O:\n    def __getattribute__(self, name): return n\no = O()", "o.n",
      "n = V"),
    P("an attribute that is deleted", "class O: n = 1\no = O(); o.n = 1", "o.n", "O.n = V; o.__dict__.pop('n', None)"),
    P("__call__", "class O:\n    n = 1\n    def __call__(self): return self.n\no = O()", "o()", "o.n = V"),
    P("__call__ of the class", "class O:\n    def __call__(self): return 1\no = O()", "o()",
      "O.__call__ = lambda self, v=V: v"),
    P("__getitem__", ITEMS + "o = O()", "o['a']"),
    P("__len__", "class O:\n    n = 1\n    def __len__(self): return int(self.n)\no = O()", "len(o)", "o.n = V"),
    P("__bool__", "class O:\n    n = 1\n    def __bool__(self): return self.n % 2 == 1\no = O()", "(1 if o else 2)", "o.n = V"),
    P("__contains__", "class O:\n    n = 1\n    def __contains__(self, k): return self.n % 2 == 0\no = O()",
      "(2 if 2 in o else 1)", "o.n = V"),
    P("__eq__", "class O:\n    n = 1\n    def __eq__(self, o): return self.n % 2 == 1\no = O()", "(1 if o == 3 else 2)",
      "o.n = V"),
    P("__iter__", "class O:\n    n = 1\n    def __iter__(self): return iter([self.n])\no = O()", "list(o)[0]", "o.n = V"),
    P("__float__", "class O:\n    n = 1\n    def __float__(self): return float(self.n)\no = O()", "float(o)", "o.n = V"),
    P("__index__", "class O:\n    n = 1\n    def __index__(self): return int(self.n)\no = O()", "range(99)[o]", "o.n = V"),
    P("__str__", "class O:\n    n = 1\n    def __str__(self): return str(self.n)\no = O()", "float(f'{o}')", "o.n = V"),
    P("__mul__", "class O:\n    n = 1\n    def __mul__(self, k): return self.n * k\no = O()", "(o * 1)", "o.n = V"),
    P("__hash__", "class O:\n    n = 1\n    def __hash__(self): return int(self.n)\no = O()", "hash(o)", "o.n = V"),
    P("__enter__", "class O:\n    n = 1\n    def __enter__(self): return self.n\n    def __exit__(self, *a): pass\no = O()\n"
      "def get():\n    with o as n: return n", "get()", "o.n = V"),
    P("__missing__", "class D(dict):\n    n = 1\n    def __missing__(self, k): return D.n\nd = D()", "d['a']", "D.n = V"),
    P("a module", "m = types.ModuleType('m'); m.n = 1", "m.n"),
    P("a module that the step imports", "sys.modules['settings_of_a_step'] = types.ModuleType('m')\n"
      "sys.modules['settings_of_a_step'].n = 1\ndef get():\n    import settings_of_a_step\n    return settings_of_a_step.n",
      "get()", "sys.modules['settings_of_a_step'].n = V"),
    P("a module that is replaced", "def put(v): sys.modules['t_of_a_step'] = m = types.ModuleType('m'); m.n = v\nput(1)\ndef get():\n"
      "    import t_of_a_step\n    return t_of_a_step.n", "get()", "put(V)"),
    P("a module's __getattr__", "m = types.ModuleType('m'); kept = {'n': 1}; m.__getattr__ = lambda name: kept[name]", "m.n",
      "kept['n'] = V"),
    P("sys.modules", "sys.modules['m_of_a_step'] = types.ModuleType('m'); sys.modules['m_of_a_step'].n = 1",
      "sys.modules['m_of_a_step'].n"),
    # Reached through text, or through the system
    P("globals()", "n = 1", "globals()['n']", module=True),
    P("eval", "n = 1", "eval('n')", "n = V", module=True),
    P("exec", "d = {'n': 1}\ndef get():\n    exec('k = n', d)\n    return d['k']", "get()", "d['n'] = V"),
    P("the environment", "os.environ['S_OF_STEP'] = '1'", "float(os.environ['S_OF_STEP'])", "os.environ['S_OF_STEP'] = str(V)"),
    P("getenv", "os.environ['T_OF_STEP'] = '1'", "float(os.getenv('T_OF_STEP', '1'))", "os.environ['T_OF_STEP'] = str(V)"),
    P("a context variable", "v = contextvars.ContextVar('v', default=1); v.set(1)", "v.get()", "v.set(V)"),
    P("sys.path's length", "del sys.path[3:]", "len(sys.path)", "sys.path.append('a')"),
    P("a text in memory", "f = io.StringIO('1')", "float(f.getvalue())", "f = io.StringIO(str(V))"),
    P("a file", "path = pathlib.Path(tempfile.gettempdir(), f'a_step_{os.getpid()}'); path.write_text('1')\ndef get():\n"
      "    with open(path) as f: return float(f.read())", "get()", "path.write_text(str(V))"),
    P("an array in a file", "path = f'{tempfile.gettempdir()}/a_step_{os.getpid()}.npy'; np.save(path, 1.0)", "float(np.load(path))",
      "np.save(path, V)"),
    P("the size of a file's text", "w = io.BytesIO(b'a')", "len(w.getbuffer())", "w = io.BytesIO(b'a' * int(V))"),
    P("a switch of the interpreter", "sys.setrecursionlimit(1001)", "(sys.getrecursionlimit() - 1000)",
      "sys.setrecursionlimit(1000 + int(V))"),
    P("how often a cache was asked", "@functools.lru_cache\ndef f(): return 1\nf.cache_clear()",
      "(1 + f.cache_info().hits)", "f()"),
    P("a function that was cached before", "n = 1\n@functools.lru_cache\ndef f(): return n\nf()", "f()",
      "n = V; f.cache_clear(); f()"),
    P("a cached function", "n = 1\n@functools.lru_cache\ndef f(): return n", "f()", "n = V; f.cache_clear()"),
    P("single dispatch", "@functools.singledispatch\ndef f(k): return 1", "f(2)", "f.register(int, lambda k, v=V: v)"),
    # Other containers
    P("a deque", "q = collections.deque([1], maxlen=3)", "q[-1]", "q.append(V)", "q"),
    P("a rotated deque", "q = collections.deque([1, 2, 3])", "q[0]", "q.rotate(int(V))", "q", counts=False),
    P("a UserDict", "d = collections.UserDict(n=1)", "d['n']", shows="d"),
    P("a UserList", "l = collections.UserList([1])", "l[0]", shows="l"),
    P("a UserString", "s = collections.UserString('1')", "float(s.data)", "s = collections.UserString(str(V))"),
    P("an OrderedDict's order", "d = collections.OrderedDict(a=1, b=2)", "next(iter(d.values()))", "d.move_to_end("
      "next(iter(d)))", "d"),
    P("an OrderedDict", "d = collections.OrderedDict(n=1)", "d['n']", shows="d"),
    P("a defaultdict", "d = collections.defaultdict(lambda: 1)", "d['n']", shows="d"),
    P("a default factory", "d = collections.defaultdict(lambda: 1)", "d.default_factory()",
      "d.default_factory = lambda v=V: v"),
    P("a Counter", "d = collections.Counter(n=1)", "d['n']", shows="d"),
    P("a Counter's most common", "d = collections.Counter(n=1)", "d.most_common(1)[0][1]", "d['n'] = V", "d"),
    P("a ChainMap", "base = {'n': 1}; d = collections.ChainMap({}, base)", "d['n']", "base['n'] = V", "d.maps"),
    P("a mapping proxy", "base = {'n': 1}; d = types.MappingProxyType(base)", "d['n']", "base['n'] = V"),
    P("a view of a dict", "d = {'n': 1}; view = d.values()", "sum(view)", "d['n'] = V", "d"),
    P("a subclass of dict", "class D(dict): pass\nd = D(n=1)", "d['n']", shows="d"),
    P("a subclass of dict with attributes", "class D(dict):\n    __getattr__ = dict.__getitem__\n"
      "    __setattr__ = dict.__setitem__\nd = D(n=1)", "d.n", shows="d"),
    P("a subclass of list", "class L(list): pass\nl = L([1])", "l[0]", shows="l"),
    P("a field of a subclass of list", "class L(list): pass\nl = L([1]); l.n = 1", "l.n"),
    P("a subclass of tuple", "class T(tuple): pass\nt = T([1])", "t[0]", "t = T([V])", "t"),
    P("a field of a subclass of tuple", "class T(tuple): pass\nt = T([1]); t.n = 1", "t.n"),
    P("a subclass of a named tuple", "class R(collections.namedtuple('R', 'n')):\n    def get(self): return self.n\no = R(1)",
      "o.get()", "o = o._replace(n=V)", "o"),
    P("a subclass of float", "class S(float): pass\ns = S(1)", "s", "s = S(V)"),
    P("a field of a subclass of float", "class S(float): pass\ns = S(1); s.n = 1", "s.n"),
    P("a subclass of int", "class S(int): pass\ns = S(1)", "s", "s = S(V)"),
    P("a subclass of int that multiplies", "class S(int):\n    n = 1\n    def __rmul__(self, o): return o * S.n\ns = S(1)",
      "(1 * s)", "S.n = V"),
    P("a field of a subclass of str", "class S(str): pass\ns = S('a'); s.n = 1", "s.n"),
    P("a subclass of str", "class S(str): pass\ns = S('1')", "float(s)", "s = S(V)"),
    P("a subclass of set", "class S(set): pass\ns = S([1])", "max(s)", "s.add(V)", "s"),
    P("a subclass of deque", "class Q(collections.deque): pass\nq = Q([1])", "q[-1]", "q.append(V)", "q"),
    P("the value of an Enum", "class E(enum.Enum):\n    A = 1", "E.A.value", "E.A._value_ = V"),
    P("a field of an Enum", "class E(enum.Enum):\n    A = 1\nE.A.n = 1", "E.A.n"),
    P("an array", "a = array.array('d', [1])", "a[0]", shows="list(a)"),
    P("a bytearray", "a = bytearray([1])", "a[0]", "a[0] = int(V)", "a"),
    P("the length of a bytearray", "a = bytearray([1])", "len(a)", "a.append(int(V))", "a"),
    P("a memory view", "a = bytearray([1]); m = memoryview(a)", "m[0]", "a[0] = int(V)", "a"),
    P("a C number", "c = ctypes.c_int(1)", "c.value", "c.value = int(V)"),
    P("a C structure", "class C(ctypes.Structure): _fields_ = [('n', ctypes.c_int)]\nc = C(1)", "c.n", "c.n = int(V)"),
    P("a queue", "q = queue.Queue(); q.put(1)", "q.queue[-1]", "q.put(V)", "list(q.queue)"),
    P("the size of a queue", "q = queue.SimpleQueue(); q.put(1)", "q.qsize()", "q.put(V)"),
    P("what a queue gives", "q = queue.Queue(); q.put(1)\ndef got():\n    v = q.get(); q.put(v); return v", "got()",
      "q.queue[-1] = V", "list(q.queue)"),
    P("a heap", "q = [-1]", "-q[0]", "heapq.heappush(q, -V)", "q"),
    P("bisect", "q = [1]", "bisect.bisect(q, 1)", "bisect.insort(q, 1)", "q"),
    P("a semaphore", "s = threading.Semaphore(1)", "s._value", "s.release()"),
    P("an event", "e = threading.Event()", "(2 if e.is_set() else 1)", "e.set()", counts=False),
    P("thread-local data", "t = threading.local(); t.n = 1", "getattr(t, 'n', 7)", "t.n = V", "getattr(t, 'n', 7)"),
    P("a long list", "l = [1] * 3000", "l[1500]"),
    P("the end of a long list", "l = [1] * 3000", "l[-1]", "l.append(V)"),
    P("a long list of lists", "l = [[1] for _ in range(2000)]", "l[1500][0]"),
    P("the sum of a long list", "l = [0] * 2000; l[7] = 1", "sum(l)", "l[7] = V"),
    P("a long dict", "d = dict.fromkeys(range(3000), 1)", "d[1500]"),
    P("a long tuple", "t = (1,) * 3000", "t[1500]", "t = (V,) * 3000"),
    P("a long deque", "q = collections.deque([1] * 2000)", "q[1000]"),
    P("a long set", "s = set(range(-2000, 0)) | {1}", "max(s)", "s.add(V)"),
    P("a long bytearray", "a = bytearray([1]) * 70000", "a[69000]", "a[69000] = int(V)"),
    P("deep lists", "l = [1]\nfor _ in range(40): l = [l]\ndef cell():\n    k = l\n    for _ in range(40): k = k[0]\n"
      "    return k", "cell()[0]"),
    P("a list that holds itself", "l = [1]; l.append(l)", "l[1][1][0]", "l[0] = V", "l[0]"),
    P("a chain of objects", "class O: pass\no = O(); o.n = 1\nfor _ in range(30):\n    w = O(); w.o = o; o = w\n"
      "def end():\n    k = o\n    while hasattr(k, 'o'): k = k.o\n    return k", "end().n"),
    # NumPy
    P("a NumPy array", "a = np.ones(3)", "a[0]"),
    P("a NumPy array as float", "a = np.ones(3, np.float32)", "float(a[1])", "a[1] = V", "a"),
    P("a NumPy array without axes", "a = np.array(1.0)", "float(a)", "a[...] = V", "a"),
    P("a NumPy number", "a = np.float64(1)", "a", "a = np.float64(V)"),
    P("a NumPy float32", "a = np.float32(1)", "float(a)", "a = np.float32(V)", "a"),
    P("a NumPy array of objects", "a = np.array([1, 'a'], dtype=object)", "a[0]"),
    P("a NumPy record", "a = np.zeros(2, dtype=[('n', 'f8')]); a['n'] = 1", "float(a['n'][0])", "a['n'][0] = V", "a['n']"),
    P("a field of a subclass of array", "class A(np.ndarray): pass\na = np.ones(2).view(A); a.n = 1", "a.n"),
    P("a large NumPy array", "a = np.ones(40000)", "float(a[30000])", "a[30000] = V"),
    P("a view of a NumPy array", "a = np.ones(40000); v = a[30000:]", "float(v[0])", "a[30000] = V"),
    P("the sum of a NumPy array", "a = np.ones(1)", "float(a.sum())", "a[0] = V"),
    P("a NumPy array replaced", "a = np.ones(2)", "float(a[0])", "a = np.full(2, float(V))"),
    P("a NumPy array, as a Tensor", "a = np.ones(2, np.float32)", "Tensor(a)[0]", "a[0] = V", "a"),
    P("a large NumPy array, as a Tensor", "a = np.ones(40000, np.float32)", "Tensor(a[29999:30001]).sum()", "a[30000] = V",
      "a[30000]"),
    P("a Tensor on a NumPy array", "a = np.ones(2, np.float32); t = tinygrad_like.from_numpy(a)", "t[0]", "a[0] = V", "a"),
    P("NumPy's mask", "a = np.ones(4)", "float(a[a > 0].sum() / 4)", "a[:] = V", "a"),
    # Weak references
    P("a weak reference", "class O: n = 1\no = O(); w = weakref.ref(o)", "w().n", "o.n = V"),
    P("a weak proxy", "class O: n = 1\no = O(); w = weakref.proxy(o)", "w.n", "o.n = V"),
    P("a weak dict of values", "class O: n = 1\no = O(); d = weakref.WeakValueDictionary(a=o)", "d['a'].n", "o.n = V"),
    P("a weak dict of keys", "class O: pass\no = O(); d = weakref.WeakKeyDictionary(); d[o] = 1", "d[o]"),
    P("the size of a weak set", "class O: pass\nkept = [O()]; s = weakref.WeakSet(kept)", "len(s)",
      "kept.append(O()); s.add(kept[-1])"),
    P("a weak method", "class O:\n    n = 1\n    def get(self): return self.n\no = O(); w = weakref.WeakMethod(o.get)",
      "w()()", "o.n = V"),
]
WAYS = {  # name: (starts, step, between, ends)
    "counts": ("", "{count}; loss = loss * (1 + {read} / 8)", "", ""),
    "is set between calls": ("", "loss = loss * (1 + {read} / 8)", "if i > 5: {set}", ""),
    "counts at the end": ("", "loss = loss * (1 + {read} / 8)", "", "{count}"),
    "is set each time": ("", "loss = loss + {read} * h.mean()", "{each}", ""),
    "toggles": ("", "loss = loss * (1 + {read} / 8)", "{toggle}", ""),
    "is set in the middle": ("", "loss = loss * (1 + {read} / 8)", "if i == 7: {set}", ""),
    "decides": ("", "{count}\nif {read} % 3 == 1: loss = loss * 1.5", "", ""),
    "counts and an exception is caught": (
        "", "try:\n    {count}\n    if {read} % 3 == 0: raise KeyError({read})\n    loss = loss * (1 + {read} / 8)\n"
        "except KeyError as e:\n    loss = loss * 0.5", "", ""),
    "counts and the caller catches": ("{count}\nif {read} in (3, 5, 9): raise ValueError('no')",
                                      "loss = loss * (1 + {read} / 8)", "", ""),
    "shapes": ("", "loss = loss + (Tensor.ones(int({read}) + 1) * h.mean()).sum() / 8", "if i > 5: {set}", ""),
    "counts and is set": ("", "{count}; loss = loss * (1 + {read} / 8)", "if i in (4, 9): {set}", ""),
}


def habit(place: Place, way: str) -> Habit:
    filled = {"count": place.written(f"{place.read} + 1"), "read": place.read, "set": place.written("1 + i // 3"),
              "each": place.written("1 + i"), "toggle": place.written("1 + i % 2")}
    starts, step, between, ends = (text.format(**filled) for text in WAYS[way])
    return Habit(f"{place.name} {way}", place.setup.strip(), step, between, place.shows, ends, starts, module=place.module)


ONCE = [habit(place, way) for place in PLACES for way in list(WAYS)[not place.counts:2]]
MORE = [habit(place, way) for place in PLACES for way in list(WAYS)[2:]]
