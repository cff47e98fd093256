"""English words that name no content of a picture: what concepts are not made of."""

_GRAMMAR = """
a an the this that these those there here it its he him his himself she her hers herself they them their theirs
themselves i me my you your we us our who whom whose which what when where while why how
and or but nor so if as than then because though although whether both either neither not no yes
is are am was were be been being has have had having do does did doing can could will would shall should may might must
can't cannot don't doesn't isn't aren't won't
of in on at to from by for with without within into onto upon out off over under above below beneath between among
amongst through throughout across along alongside around about against beside besides near nearby next behind beyond
before after during until past toward towards up down inside outside further via like per
also just only even still very too quite rather almost nearly really together apart away back again already
"""
_QUANTITY = """
one two three four five six seven eight nine ten eleven twelve dozen hundred thousand first second third last
some any all each every several many much more most few fewer less lot bunch couple pair group number various other
others another same different single double half part piece kind type sort set multiple numerous enough
"""
_LAYOUT = """
left right top bottom side front rear middle center centre centered corner edge end row line
background foreground distance area place day thing stuff item something someone somebody everyone everything
picture photo photograph image view shot scene close closeup camera
"""
_LOOKS = """
big large huge giant enormous small little tiny long short tall high low wide narrow thick thin deep flat round
broad steep dense hard dry wet old young new modern good nice beautiful pretty great ready full empty open closed clear
bright dark light pale white black red green blue yellow brown grey gray orange pink purple golden silver blond blonde
reddish greenish bluish yellowish brownish greyish grayish color colour colored coloured colorful colourful
wooden tee rise storey story multi skinned haired shaped sized slightly
"""
_DOING = """
sit sitting sat stand standing stood lie lying lay laying lean leaning hang hanging hold holding held carry carrying
wear wearing dressed look looking watch watching see seen show showing shown take taking taken make making made
put putting pose posing get getting got go going come coming use using used try trying keep keeping
surround surrounded cover covered fill filled placed attach attached
"""

# Of these, the words by which nothing can be looked for; colours and deeds can be, though they are no concepts.
LITTLE_WORDS = frozenset(" ".join((_GRAMMAR, _QUANTITY, _LAYOUT)).split())
STOP_WORDS = frozenset(" ".join((_GRAMMAR, _QUANTITY, _LAYOUT, _LOOKS, _DOING)).split())
