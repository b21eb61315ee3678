from sectile.as_triton import not_here

not_here(__name__)
